"""What is compared: `D4=8,M2=none`, `device=emu`, `commit=REV`, or `default`, in any combination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cuzk.errors import InputError
from cuzk.variants import chosen, parse_setting

__all__ = ["DEFAULT", "Setting"]

#: The text of a setting that chooses nothing.
DEFAULT = "default"


@dataclass(frozen=True)
class Setting:
    """One side of a comparison.

    Args:
        variants: Chosen variants, id to value; what is left out has its default.
        device: Name of the device.
        commit: Revision whose code runs; None is the code that is running.
    """

    variants: Mapping[str, str] = field(default_factory=dict)
    device: str = "cpu"
    commit: str | None = None

    @property
    def kind(self) -> str:
        """Kind of the device."""
        return self.device.partition(":")[0]

    @property
    def text(self) -> str:
        """As one writes it, without what is the default."""
        parts = [f"{name}={value}" for name, value in self.variants.items()]
        if self.commit is not None:
            parts.append(f"commit={self.commit}")
        return ",".join(parts) or DEFAULT

    def described(self, device: str) -> str:
        """The text, with the device where it is not the other side's."""
        return (
            self.text
            if self.device == device
            else f"{self.text},device={self.device}".removeprefix("default,")
        )

    @classmethod
    def parse(cls, text: str, device: str) -> Setting:
        """Read a setting.

        Args:
            text: Parts joined by commas: ID=VALUE, device=NAME, commit=REV (or commit:REV), default.
            device: Where it runs if it does not say.

        Raises:
            InputError: Not of this form, or a variant, value or device that there is not.
        """
        variants: dict[str, str] = {}
        commit = None
        for part in (piece.strip() for piece in text.split(",")):
            name, mark, value = part.partition("=")
            if part == DEFAULT:
                continue
            if part.startswith("commit:"):
                name, mark, value = "commit", "=", part.removeprefix("commit:")
            if mark and name == "device" and value:
                device = value
            elif mark and name == "commit" and value:
                commit = value
            else:
                identifier, chosen_value = parse_setting(part)
                if variants.setdefault(identifier, chosen_value) != chosen_value:
                    raise InputError(
                        f"setting {text!r} gives {identifier} two values",
                        limit="one value a variant",
                        remedy="leave one of them out",
                    )
        if commit is None:  # another commit has a registry of its own
            chosen(variants, device.partition(":")[0])
        return cls(variants, device, commit)
