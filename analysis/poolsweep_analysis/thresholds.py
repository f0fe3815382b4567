"""The thresholds a counter of a scenario is held against, for drawing them into a timeline."""

from typing import Any


def thresholds(scenario: dict[str, Any], buffer: str) -> dict[str, int]:
    """Fixed thresholds of a `buff_id` in a resolved scenario, name and bytes, the highest first.

    Of the model `scala`: Xoff and Xon of `ingressUsage`, the limit of `hdrm`. Other counters and
    models have limits that move with what is queued (`buff_limit` of the rows has them) and give an
    empty answer; so does a scenario in which tiers have settings of their own.
    """
    switch = scenario["switch"]
    if switch["model"] != "scala" or switch.get("tiers"):
        return {}
    manager = switch["SharedBufferManager"]
    names = {
        "ingressUsage": {
            "Xoff": "StaticPoolXoffThreshold",
            "Xon": "StaticPoolXonThreshold",
        },
        "hdrm": {"headroom": "HeadRoomPerPortLimit"},
    }
    if buffer == "ingressUsage" and not any(manager["EnablePFC"]):
        return {}
    return {name: manager[key] for name, key in names.get(buffer, {}).items()}
