"""The interfaces of other tokenizer packages over merganser: change the import, keep the program."""
