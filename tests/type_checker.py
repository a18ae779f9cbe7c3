"""The checker that the import hook of ``conftest`` puts on every annotated function of ``attention_lib``."""

from beartype import BeartypeConf, beartype

check_types = beartype(conf=BeartypeConf(is_pep484_tower=True))  # as in PEP 484: an int will do where a float is asked
