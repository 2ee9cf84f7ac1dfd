"""Hugging Face's `tokenizer.json`, schema 1.0, whole: every model and every component.

`table` lists the components and their options, `components` reads and writes them by it, `models` reads the models,
`byte_level` says which files are byte-level BPE, `reading` and `writing` put a file together, and `folder` has what
else `AutoTokenizer.from_pretrained` wants. What is wrong or not known is refused with its JSON path.
"""

from merganser.formats.huggingface import bert
from merganser.formats.huggingface.byte_level import spelled
from merganser.formats.huggingface.components import components_for_engine, template_of
from merganser.formats.huggingface.folder import read_folder, read_vocab, write_folder
from merganser.formats.huggingface.model_writing import options_of
from merganser.formats.huggingface.reading import from_json, read
from merganser.formats.huggingface.writing import rewritten, write

__all__ = [
    "bert",
    "components_for_engine",
    "from_json",
    "options_of",
    "read",
    "read_folder",
    "read_vocab",
    "rewritten",
    "spelled",
    "template_of",
    "write",
    "write_folder",
]
