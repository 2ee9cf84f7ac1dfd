"""`prepare`: texts and pairs of texts as the rows that a model takes: ids, type ids, masks, and where tokens come from.

What is done, and in which order, is what Hugging Face's tokenizers do; nothing is kept between calls. `options` says
what the arguments and the Spec ask for, `texts` encodes, `rows` cuts, frames, joins and pads, `results` is what comes
out.
"""

from merganser.preparing.options import Options, Side, Strategy
from merganser.preparing.results import Prepared, PreparedBatch
from merganser.preparing.rows import Step
from merganser.preparing.texts import checked_texts, encode, paired, prepared, steps_of, trace

__all__ = [
    "Options",
    "Prepared",
    "PreparedBatch",
    "Side",
    "Step",
    "Strategy",
    "checked_texts",
    "encode",
    "paired",
    "prepared",
    "steps_of",
    "trace",
]
