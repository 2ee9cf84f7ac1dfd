"""Hugging Face's `tokenizer.json`: byte-level BPE as GPT-2, GPT-NeoX, Qwen, Llama 3 and DeepSeek have it.

`reading` reads the components and `vocabulary` the model, `writing` writes both, and `folder` what else
`AutoTokenizer.from_pretrained` wants. What a Spec cannot hold is refused with the JSON path of the component, what
tokenizer.json cannot hold with the reason.
"""

from merganser.formats.huggingface.folder import write_folder
from merganser.formats.huggingface.reading import from_json, read
from merganser.formats.huggingface.writing import write

__all__ = ["from_json", "read", "write", "write_folder"]
