"""Deterministic sample texts that need no data folder: code, prose, sentences of our own in many scripts, hard cases.

None holds a lone surrogate, so each is a valid UTF-8 document.
"""

import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

LANGUAGES = {
    "Afrikaans": "Die eend duik onder die water in en kom 30 meter verder weer op. Dis koud, maar sy gee nie om nie.",
    "Albanian": "Rosa zhytet në liqen dhe del përsëri pas njëzet sekondash; çfarë frymëmarrjeje!",
    "Amharic": "ዳክዬዋ ወደ ውሃው ጠልቃ ገባች። ከ፳ ሰከንድ በኋላ ተመልሳ ወጣች፤ ዓሣም ይዛ ነበር።",
    "Arabic": "تغوص البطة في الماء ثم تعود بعد ٢٠ ثانية، وفي مِنقارها سمكةٌ صغيرة! هل رأيتَها؟",
    "Armenian": "Բադը սուզվում է ջրի տակ և դուրս է գալիս քսան վայրկյան անց։ Ձուկ բռնե՞լ է։",
    "Azerbaijani": "Ördək suya baş vurur və 20 saniyədən sonra üzə çıxır. Gölün suyu çox soyuqdur, İlqar.",
    "Basque": "Ahatea uretan murgildu da eta hogei segundo geroago atera da, arrain bat mokoan duela.",
    "Belarusian": "Качка нырае ў возера і выплывае праз дваццаць секунд. Яна з’ела рыбу — і зноў пад ваду!",
    "Bengali": "হাঁসটি জলে ডুব দেয় আর ২০ সেকেন্ড পরে ভেসে ওঠে। তার ঠোঁটে একটা ছোট মাছ।",
    "Bulgarian": "Патицата се гмурка и изплува след 20 секунди. Колко риби е хванала тази сутрин?",
    "Burmese": "ဘဲသည် ရေထဲသို့ ငုပ်လျှိုးသွားပြီး စက္ကန့် ၂၀ အကြာတွင် ပြန်ပေါ်လာသည်။",
    "Catalan": "L'ànec s'ha capbussat i ha sortit vint segons després; quina col·lecció de peixos!",
    "Cherokee": "ᎧᏬᏅ ᎠᎹ ᎭᏫᏂ ᎡᎯ. ꭷꮼꮕ ꭰꮉ ꭽꮻꮒ.",
    "Chinese, simplified": "鸭子潜入水中，20秒后才浮上来。今天是2024年3月5日，湖边的人都说：“真冷！”",
    "Chinese, traditional": "鴨子潛入水中，二十秒後才浮上來。湖邊的人都說：「真冷！」然後一起回家吃飯。",
    "Croatian": "Patka roni ispod leda, a izranja tek nakon dvadeset sekundi. Đurđica joj se čudi.",
    "Czech": "Kachna se potopila a vynořila se až po dvaceti vteřinách. Příliš žluťoučký kůň na ni zíral.",
    "Danish": "Anden dykker ned i søen og kommer op 20 sekunder senere – med en lille ål i næbbet.",
    "Divehi": "އަސްދޫނި ފެނަށް ފީނާ، 20 ސިކުންތު ފަހުން މައްޗަށް އަރައެވެ.",
    "Dutch": "De zaagbek dook onder en kwam pas na 20 seconden boven; 's ochtends zijn er 3.500 op het IJ.",
    "English": "The merganser doesn't wait: it dives, and it'll be back in 20.5 s. They're HUNGRY; I've seen 1,234.",
    "Esperanto": "La anaso plonĝas en la akvon kaj reaperas post dudek sekundoj. Ĉu ĝi kaptis fiŝon? Ŝajne jes, ĵus.",
    "Estonian": "Koskel sukeldub jääkülma vette ja tõuseb pinnale alles 20 sekundi pärast.",
    "Finnish": "Isokoskelo sukeltaa järveen ja nousee pintaan vasta kahdenkymmenen sekunnin päästä. Hyvää yötä!",
    "French": "« L'oiseau plonge aujourd'hui ? » Il reparaît vingt secondes plus tard, l'œil vif, à 1 200 m d'ici !",
    "Galician": "O mergo mergúllase na auga e volve saír vinte segundos despois, cun peixiño no peteiro.",
    "Georgian": "იხვი წყალში ჩაყვინთავს და ოც წამში ისევ ამოდის. ᲗᲔᲕᲖᲘ დაიჭირა?",
    "German": "Der Gänsesäger taucht unter und kommt bald wieder hoch. STRASSE, Straße, STRAẞE: größer geht’s nicht.",
    "Greek": "Η πάπια βουτάει στο νερό και βγαίνει ύστερα από είκοσι δευτερόλεπτα. Ὁ ποταμὸς ἦν ψυχρός· ΠΟΛΥ ψυχρός;",
    "Gujarati": "બતક પાણીમાં ડૂબકી મારે છે અને ૨૦ સેકન્ડ પછી ઉપર આવે છે.",
    "Hausa": "Agwagwa ta nutse cikin ruwa, sannan ta fito bayan daƙiƙa ashirin. Ɓarayi sun gudu, 'yan sanda sun zo.",
    "Hawaiian": "Luʻu ka pakā i loko o ka wai, a puka hou mai ma hope o iwakālua kekona.",
    "Hebrew": 'הברווז צולל למים ועולה אחרי 20 שניות. בְּרֵאשִׁית היה קר מאוד, אמר ד"ר לוי.',
    "Hindi": "बत्तख पानी में डुबकी लगाती है और २० सेकंड बाद ऊपर आती है। क्या उसने मछली पकड़ी? हाँ, ज़रूर!",
    "Hungarian": "A bukó lemerül, és csak húsz másodperc múlva jön fel. Árvíztűrő tükörfúrógép, mondta Ödön.",
    "Icelandic": "Gulöndin kafar í vatnið og kemur upp eftir tuttugu sekúndur. Það er kalt í dag, sagði Þórður.",
    "Igbo": "Ọbọgwụ ahụ na-amaba n'ime mmiri, mgbe sekọnd iri abụọ gachara ọ na-apụta ọzọ.",
    "Indonesian": "Bebek itu menyelam ke dalam air dan muncul lagi 20 detik kemudian. Anak-anak berlari melihatnya.",
    "Inuktitut": "ᒥᑎᖅ ᐊᖅᑲᖅᐳᖅ ᐃᒪᕐᒧᑦ, ᑕᐃᒪ ᐳᐃᓪᓗᓂ.",
    "Irish": "Tumann an lacha faoin uisce agus tagann sí aníos tar éis fiche soicind. Tá an t-uisce an-fhuar.",
    "Italian": "Lo smergo s'immerge nell'acqua e riemerge dopo venti secondi. Perché? C'è un pesce, dov'è andato?",
    "Japanese": "アイサは水に潜り、20秒後に浮かび上がる。寒い朝でも平気だ。ｶﾓは３羽、ガ行の「か゛」も書けます。",
    "Javanese": "ꦧꦺꦧꦺꦏ꧀ꦲꦶꦏꦸꦱꦶꦭꦺꦩ꧀ꦲꦶꦁꦧꦚꦸ꧉",
    "Kannada": "ಬಾತುಕೋಳಿ ನೀರಿನಲ್ಲಿ ಮುಳುಗಿ ೨೦ ಸೆಕೆಂಡುಗಳ ನಂತರ ಮೇಲೆ ಬರುತ್ತದೆ.",
    "Kazakh": "Үйрек суға сүңгіп, жиырма секундтан кейін қайта шығады. Бұл көлдің суы өте суық, ғой.",
    "Khmer": "ទាមុជទឹក ហើយងើបឡើងវិញក្រោយ ២០ វិនាទី។",
    "Korean": "비오리는 물속으로 잠수했다가 20초 뒤에 떠오른다. 물고기를 잡았을까? 한글 자모: ㄱㄴㄷ, 옛글 ᄒᆞᆫ.",
    "Kurdish": "Werdek xwe davêje avê û piştî bîst çirkeyan derdikeve. Îro zehf sar e, çi bikim?",
    "Lao": "ເປັດດຳນ້ຳລົງໄປ ແລະ ໂຜ່ຂຶ້ນມາຫຼັງຈາກ ໒໐ ວິນາທີ.",
    "Latin": "Mergus in aquam se demergit et post vigintī secunda rursus apparet; quō piscem fert? MCMXCIX.",
    "Latvian": "Gaura ienirst ūdenī un iznirst pēc divdesmit sekundēm. Šķiet, ka tā noķēra zivi.",
    "Lithuanian": "Dančiasnapis neria į vandenį ir išnyra po dvidešimties sekundžių. Ąžuolas, žąsis, šūvis.",
    "Macedonian": "Патката нурка во езерото и излегува по дваесет секунди. Ѓорѓи ѝ фрла леб, џабе.",
    "Malayalam": "താറാവ് വെള്ളത്തിൽ മുങ്ങി ൨൦ സെക്കൻഡിനു ശേഷം പൊങ്ങിവരുന്നു. നല്ല തണുപ്പാണ്.",
    "Maltese": "Il-papra tgħodos fl-ilma u titla' wara għoxrin sekonda. X'ħin hu? Nofsinhar u żewġ minuti.",
    "Maori": "Ka ruku te rakiraki ki te wai, ā, ka puta anō i muri i te rua tekau hēkona.",
    "Marathi": "बदक पाण्यात बुडी मारते आणि २० सेकंदांनी वर येते. ऱ्हस्व आणि दीर्घ, दोन्ही लिहा.",
    "Mongolian": "Нугас усанд шумбаж, хорин секундын дараа гарч ирдэг. Өнөөдөр их хүйтэн байна, тийм үү?",
    "Nepali": "हाँस पानीमा डुबुल्की मार्छ र २० सेकेन्डपछि माथि आउँछ।",
    "Norwegian": "Laksanda dykker, og etter tjue sekunder er ho oppe att. Er det fisk i nebbet? Nei, berre litt sjø.",
    "Odia": "ବତକ ପାଣିରେ ବୁଡ଼ି ୨୦ ସେକେଣ୍ଡ ପରେ ଉପରକୁ ଆସେ।",
    "Pashto": "هیلۍ په اوبو کې ډوبېږي او شل ثانیې وروسته بیرته راوځي.",
    "Persian": "اردک به زیر آب می‌رود و پس از ۲۰ ثانیه بالا می‌آید؛ کتاب‌ها را هم می‌خواند!",
    "Polish": "Nurogęś zanurza się i wypływa po dwudziestu sekundach. Zażółć gęślą jaźń, Źdźbło!",
    "Portuguese": "O merganso mergulha e só volta à tona vinte segundos depois. Não há peixe? Há: são três, João.",
    "Punjabi": "ਬੱਤਖ਼ ਪਾਣੀ ਵਿੱਚ ਚੁੱਭੀ ਮਾਰਦੀ ਹੈ ਅਤੇ ੨੦ ਸਕਿੰਟਾਂ ਬਾਅਦ ਉੱਪਰ ਆਉਂਦੀ ਹੈ।",
    "Quechua": "Ñuñumaqa yakupi challpukun, hinaspa iskay chunka segundomanta lluqsimun.",
    "Romanian": "Ferestrașul se scufundă și iese după douăzeci de secunde. Într-o zi, aşa cum știți, va fi ger.",
    "Russian": "Крохаль ныряет и всплывает через 20 секунд. Ёжик ждёт его на берегу: «Ну как вода?» — «ХОЛОДНАЯ!»",
    "Sanskrit": "हंसः जले निमज्जति विंशतिक्षणानन्तरं च पुनरुत्तिष्ठति॥ १॥ ॐ शान्तिः॥",
    "Serbian": "Патка рони испод леда, а израња после двадесет секунди. Његош, Ђорђе и Љубица је гледају.",
    "Sinhala": "තාරාවා වතුරේ කිමිදී තත්පර 20කට පසු උඩට එයි. ශ්‍රී ලංකාව.",
    "Slovak": "Kačica sa ponorí a vynorí sa až po dvadsiatich sekundách. Kŕdeľ šťastných vtákov, ôsmy raz dnes.",
    "Slovenian": "Žagar se potopi in se čez dvajset sekund spet pokaže. Šest čudnih rib je ujel.",
    "Somali": "Shimbirta biyaha ayay quustaa, labaatan ilbiriqsi ka dibna way soo baxdaa.",
    "Spanish": "¿Dónde está el pato? ¡Ahí! Se zambulló hace 20 segundos; mañana volverá, según la señora Núñez.",
    "Swahili": "Bata anapiga mbizi majini na kuibuka tena baada ya sekunde ishirini. Ng'ombe wanamtazama.",
    "Swedish": "Storskraken dyker och kommer upp efter tjugo sekunder. Är fisken hans? Ja, än så länge åtminstone.",
    "Syriac": "ܒܛܐ ܨܠܠܐ ܒܡܝ̈ܐ ܘܣܠܩܐ ܒܬܪ ܥܣܪܝܢ ܪ̈ܦܦܐ.",
    "Tagalog": "Sumisid ang bibe sa tubig at lumitaw pagkaraan ng dalawampung segundo. 'Yung isda, nakuha niya!",
    "Tamil": "வாத்து நீரில் மூழ்கி ௨௦ விநாடிகளுக்குப் பிறகு மேலே வருகிறது. ஸ்ரீ மீன் பிடித்ததா?",
    "Tatar": "Үрдәк суга чума да егерме секундтан соң кабат калкып чыга. Җил исә, һава салкын.",
    "Telugu": "బాతు నీటిలో మునిగి ౨౦ సెకన్ల తర్వాత పైకి వస్తుంది. చలి ఎక్కువగా ఉంది.",
    "Thai": "เป็ดดำน้ำแล้วโผล่ขึ้นมาอีกครั้งหลังจาก ๒๐ วินาที น้ำเย็นมากแต่มันไม่สนใจ",
    "Tibetan": "ངང་པ་ཆུའི་ནང་དུ་འཛུལ་ནས་སྐར་ཆ་༢༠ཡི་རྗེས་སུ་ཕྱིར་ཐོན།",
    "Turkish": "Ördek suya dalar ve yirmi saniye sonra çıkar. İstanbul'da ılık bir gün: IŞIK, ışık, İLİK, ilik.",
    "Ukrainian": "Крех пірнає й виринає за двадцять секунд. Їжак, ґава та п'ять м’ячів — усе на березі.",
    "Urdu": "بطخ پانی میں غوطہ لگاتی ہے اور ۲۰ سیکنڈ بعد اوپر آتی ہے۔ کیا مچھلی ملی؟",
    "Uyghur": "ئۆردەك سۇغا شۇڭغۇپ، يىگىرمە سېكۇنتتىن كېيىن قايتا چىقىدۇ.",
    "Uzbek": "O‘rdak suvga sho‘ng‘iydi va yigirma soniyadan keyin chiqadi. Bugun juda sovuq, to‘g‘rimi?",
    "Vietnamese": "Con vịt lặn xuống nước rồi nổi lên sau hai mươi giây. Trời lạnh quá, nhưng nó vẫn thích bơi.",
    "Welsh": "Mae'r hwyaden yn plymio i'r dŵr ac yn dod i'r wyneb ar ôl ugain eiliad. Ble mae'r pysgodyn, tŷ neu lyn?",
    "Wolof": "Kanaara gi dafay nuur ci ndox mi, ginnaaw ñaar-fukki saa mu feeñaat.",
    "Xhosa": "Idada liyantywila emanzini lize liphume emva kwemizuzwana engamashumi amabini.",
    "Yiddish": "די קאַטשקע טונקט זיך אונטער און קומט אַרויס נאָך צוואַנציק סעקונדעס. ס'איז קאַלט!",
    "Yoruba": "Pẹ́pẹ́yẹ náà rì sínú omi, ó sì tún jáde lẹ́yìn ogún ìṣẹ́jú àáyá.",
    "Zulu": "Idada litshuza emanzini bese livela futhi ngemva kwemizuzwana engama-20.",
}

# What a split treats as white space, and what looks like it but is not.
_SPACES = (
    " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
    "\u180e\u200b\u2060\ufeff\x00\xad"
)
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
# The Kelvin sign and long s fold to ASCII letters; the others change length, class or order with case or form.
_ODD_LETTERS = (
    "\u212a\u017f\u212b\u2126ıİßẞŉǅǆǰΐ\ufb01\ufb03ςΣªºʰˢⅠⓐꟲ𐐀𐐨Ააꭰᏸא\u05d0\u0301ا\u064eक\u093eก\u0e33"
    "각\u1100\u1161\u11a8ㄱ各\uf900々〆ーｱﾞ𠀀𪚥𖿠"
)
_DIGITS = "0123456789²³¼½٠١٢٣०१२०Ⅻⅷ①⑳〇一二三𝟘𝟙𝟚𑁦𐄇"
_MARKS = (
    "\u0300\u0301\u0308\u0323\u0327\u0345\u034f\u0489\u0610\u064b\u093f\u094d\u0e31\u0eb1"
    "\u200c\u200d\u20e3\u3099\ufe0f\U000e0100"
)
_WORDS = """
    's 'S '\u017f 't 're 'RE 'Ve 'm 'll 'lL 'd 'D \u2019s \u2019ll \u2018t \uff07s \u02bcs ''s ' ''
    / // \\n ... -- ^ _ ` $ € => 👍 👍🏽 👨\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 🇫🇷 🇫 1\ufe0f\u20e3 ☃ ☃\ufe0f
    <| |> <|endoftext|> <|endofprompt|> <|fim_prefix|> <|endoftext| <s> [UNK] ▁ Ġ Ċ
    \x00 \x7f \x80 \ud7ff \ue000 \ufdd0 \ufffd \ufffe \U0010ffff
"""
_FRAGMENTS = (*_WORDS.split(), "\r\n", "\n\r", "\n\n", " \n", "\n ", "\t\n", "\r", "//\n")

_REPEATED = ("a", "A", "aA", "é", "漢", "\u0301", "👍", "1", "٣", "^", "-", "'", "'s", "\x00")
_RUNS = (*_REPEATED, " ", "\xa0", "\u3000", "\t", "\n", "\r\n", " \n")
_RUN_LENGTHS = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000)

ADVERSARIAL = (
    "",
    *_FRAGMENTS,
    *(run * length + tail for run in _RUNS for length in _RUN_LENGTHS for tail in ("", "x", " x", "\n")),
    *(f"a{space}{space}b{space}\n{space}1{space}!{space}" for space in _SPACES),
    *(f"{left}{right}{left}x" for left in _SPACES for right in _SPACES),
    *(f"{stem}{fragment}{stem}" for stem in ("don", "DON", " 1", "漢", "!") for fragment in _FRAGMENTS),
    *(f"a{letter}A{letter} {letter}1'{letter}{letter}s" for letter in _ODD_LETTERS),
    *(f"e{mark}{mark}A{mark} {mark}1{mark}!{mark}\n{mark}" for mark in _MARKS),
    *(f"{digit}{digit * 3}a{digit * 4} {digit * 7}.{digit}" for digit in _DIGITS),
    _SPACES,
    "HTTPServer camelCase XMLHttpRequest iPhone McDonald's O'REILLY'S ÉCOLE Élan ǅungla",
    "x = 1_000_000.5e-3; y=0xFF;z =12345678901234567890",
    "e\u0301 \xe9, a\u0323\u0302 a\u0302\u0323 \u1ead, \u1100\u1161\u11a8 각, Z̸̡̧̛̗̲a̷̢̛̱l̴̡̪̕g̵̨̛o̶̢̖",
    "\u202eright to left\u202c, \u2066isolated\u2069, \u200eLRM \u200fRLM, שלום hello مرحبا 123",
    "\ufeffstart and \ufeff middle\ufeff",
    "zero\u200bwidth\u200cjoin\u200ders\u2060 and so\u00adft hyphens",
    "𝕳𝖊𝖑𝖑𝖔 Ｈｅｌｌｏ ⓗⓔⓛⓛⓞ 🅷🅴🅻🅻🅾 ʰᵉˡˡᵒ",
    "\U000e0001\U000e0068\U000e0069\U000e007f \U000f0000 \U0010fffd \ufdd0 \ud7ff\ue000",
)

# What a code point is put next to: its own kind, a space, letters, a digit and a mark, an apostrophe and a line end.
CONTEXTS = ("{}", " {}", "a{}aA{}A", "1{}!", "'{}\n")


def code() -> Iterator[str]:
    """Each file of the running Python's standard library."""
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        if not {"site-packages", "dist-packages"} & set(path.parts):
            try:
                yield path.read_bytes().decode()
            except UnicodeDecodeError:
                continue


def docstrings() -> Iterator[str]:
    """What stands between triple quotes in each file of the standard library: mostly English prose."""
    for source in code():
        if found := re.findall(r'"""(.*?)"""', source, re.DOTALL):
            yield "\n\n".join(found)


def code_points(*, size: int = 256) -> Iterator[str]:
    """Every code point but the surrogates, `size` consecutive ones a text, in each of the five `CONTEXTS`."""
    for first in range(0, 0x110000, size):
        chunk = [chr(point) for point in range(first, min(first + size, 0x110000)) if not 0xD800 <= point < 0xE000]
        for context in CONTEXTS if chunk else ():
            yield "".join(context.replace("{}", character) for character in chunk)


def random_texts(*, seed: int, count: int) -> Iterator[str]:
    """`count` texts of up to 60 random snippets: letters, spaces, digits, marks, hard fragments, any code point."""
    rng = random.Random(seed)
    scripts = "".join(sorted(set("".join(LANGUAGES.values()))))
    blocks = ((0x20, 0x7F), (0x80, 0x3000), (0x3000, 0xD800), (0xE000, 0x10000), (0x10000, 0x110000))
    anything = ["".join(map(chr, range(*block))) for block in blocks]
    alphabets = (_LETTERS, _SPACES, " \n", _DIGITS, _ODD_LETTERS, _MARKS, _FRAGMENTS, scripts, *anything)
    for _ in range(count):
        snippets = (rng.choices(rng.choice(alphabets), k=rng.randint(1, 4)) for _ in range(rng.randint(0, 60)))
        yield "".join("".join(snippet) for snippet in snippets)
