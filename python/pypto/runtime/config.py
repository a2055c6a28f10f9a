"""RunConfig: the platform and device a worker is opened on."""

from __future__ import annotations

from dataclasses import dataclass

from pypto import _core


@dataclass(frozen=True)
class RunConfig:
    """Which device serves: platform `a2a3`, `a5` (hardware) or `a2a3sim`, `a5sim` (the mock on the CPU).

    `timeout_ms` bounds every wait of the worker; None waits for ever. ValueError for an unknown platform, a negative
    device or a time-out that is not positive.
    """

    platform: str = "a2a3sim"
    device_id: int = 0
    timeout_ms: int | None = None

    def __init__(self, platform: str = "a2a3sim", device_id: int = 0, *, timeout_ms: int | None = None) -> None:
        """See the class."""
        if not isinstance(platform, str):
            raise TypeError(f"platform must be a str, got {type(platform).__name__}")
        for name, value in (("device_id", device_id), ("timeout_ms", timeout_ms)):
            optional = name == "timeout_ms" and value is None
            if not optional and (isinstance(value, bool) or not isinstance(value, int)):
                raise TypeError(f"{name} must be an int, got {type(value).__name__}")
            if value is not None and not -(1 << 31) <= value < 1 << 31:
                raise ValueError(f"{name} is {value}, which does not fit 32 bits")
        _core.validate_config(platform, device_id, timeout_ms)
        object.__setattr__(self, "platform", platform)
        object.__setattr__(self, "device_id", device_id)
        object.__setattr__(self, "timeout_ms", timeout_ms)

    @property
    def binding(self) -> tuple[str, int]:
        """What makes two workers the same device: platform and device_id."""
        return (self.platform, self.device_id)

    @property
    def is_simulator(self) -> bool:
        """Whether the mock serves the platform."""
        return _core.is_simulator_platform(self.platform)
