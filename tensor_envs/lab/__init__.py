"""Laboratory for game design: who is favoured, how long games are, how much is luck, and which rules matter.

README.md in this folder defines the measures and names their sources. The names are loaded when they are first used,
since `import tensor_envs` needs none of them.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensor_envs.lab.estimates import Measurement
    from tensor_envs.lab.laboratory import measure, variants
    from tensor_envs.lab.measures import ActionUse
    from tensor_envs.lab.ranking import Standing
    from tensor_envs.lab.report import Report, VariantReport

_MODULES = {
    "ActionUse": "measures",
    "Measurement": "estimates",
    "Report": "report",
    "Standing": "ranking",
    "VariantReport": "report",
    "measure": "laboratory",
    "variants": "laboratory",
}
__all__ = ["ActionUse", "Measurement", "Report", "Standing", "VariantReport", "measure", "variants"]


def __getattr__(name: str) -> Any:
    """Import a public name from its module."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
