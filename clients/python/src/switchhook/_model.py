"""The base of what the service sends."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError, ValidatorFunctionWrapHandler, field_validator, model_validator


class Model(BaseModel):
    """Accepts what an older or a later service sends: reading an answer never fails.

    Fields that this version does not know are kept as attributes. A field that is missing is `None`; one of another shape is handed
    over as it came.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", populate_by_name=True, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        missing = {name: None for name, field in cls.model_fields.items() if field.is_required() and not {name, field.alias} & data.keys()}
        return {**missing, **data}

    @field_validator("*", mode="wrap")
    @classmethod
    def _tolerate(cls, value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            return value
