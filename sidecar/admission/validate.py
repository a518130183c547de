"""From JSON text to a validated request, or a refusal that names the field."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from qtypes import AgentError
from qtypes.errors import shown
from qtypes.schemas import unit_at

ModelT = TypeVar("ModelT", bound=BaseModel)
_LIMITS = ("ge", "gt", "le", "lt", "min_length", "max_length", "multiple_of", "expected", "pattern")
_MORE = 5


def _path(loc: tuple[int | str, ...]) -> str:
    return ".".join(shown(str(p)) for p in loc) or "(request)"


def _limit(error: dict[str, Any]) -> Any:
    context = error.get("ctx") or {}
    found = {k: context[k] for k in _LIMITS if k in context}
    if not found:
        return None
    return {k: v if isinstance(v, (int, float, str)) else str(v) for k, v in found.items()}


def refusal(model: type[BaseModel], error: ValidationError, status: int = 422) -> AgentError:
    """The refusal for a failed validation: the first error in full, the others by field and message."""
    errors: list[Any] = list(error.errors(include_url=False))
    first = errors[0]
    loc = tuple(first["loc"])
    detail = f"{_path(loc)}: {first['msg']}"
    for other in errors[1:_MORE]:
        detail += f"; {_path(tuple(other['loc']))}: {other['msg']}"
    if len(errors) > _MORE:
        detail += f"; and {len(errors) - _MORE} more"
    got = None if first["type"] in ("missing", "json_invalid") else first.get("input")
    return AgentError(detail, field=_path(loc), got=got, limit=_limit(first), unit=unit_at(model, loc), code="invalid-field", status=status)


def parse(model: type[ModelT], text: str | bytes) -> ModelT:
    """`model` from JSON text in strict mode; :class:`AgentError` otherwise."""
    try:
        return model.model_validate_json(text)
    except ValidationError as exc:
        raise refusal(model, exc) from None
    except RecursionError:
        raise AgentError("the request is nested too deeply", code="too-deep") from None
