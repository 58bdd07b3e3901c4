"""How the page looks: colours, fonts and style sheets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr
from gradio.themes.utils.fonts import Font

from visual.theme import COLOURS, palette, variables

WEB = Path(__file__).parent / "web"
SHEETS = (WEB / "page.css", WEB / "views.css", WEB / "lab.css", WEB.parents[1] / "visual" / "panels.css")


def look() -> dict[str, Any]:
    """What `launch` has to know of it."""
    colours = f":root, .gradio-container {{ {variables('light')} }}\n.dark, .dark .gradio-container {{ {variables('dark')} }}"
    return {"theme": theme(), "css": colours, "css_paths": list(SHEETS)}


def theme() -> gr.themes.Base:
    """System fonts only: gradio's own themes fetch theirs."""
    plain = gr.themes.Base(
        primary_hue="blue", neutral_hue="slate", radius_size="lg", text_size="md",
        font=[Font(name) for name in ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "sans-serif")],
        font_mono=[Font(name) for name in ("ui-monospace", "Consolas", "DejaVu Sans Mono", "monospace")],
    )  # fmt: skip
    light, dark = palette("light"), palette("dark")
    return plain.set(
        layout_gap="10px",
        body_background_fill_dark="#0f1318",
        background_fill_primary_dark=dark.background,
        body_text_color_subdued=light.muted,
        body_text_color_subdued_dark=dark.muted,
        button_primary_background_fill=COLOURS["G"],
        button_primary_background_fill_hover="#005d91",
        button_primary_background_fill_dark=COLOURS["G"],
        button_primary_background_fill_hover_dark="#1484c4",
    )
