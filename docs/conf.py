"""The site: ``make docs`` builds it into build/docs, runs every page of the course, and takes warnings for errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import course  # noqa: E402
import names  # noqa: E402

import discern  # noqa: E402

project = "discern"
author = "The discern authors"
copyright = "the discern authors"
release = discern.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_templates", "course/*.ipynb", "course/*.py", "course/*.json", "course/*.zip"]
templates_path = ["_templates"]

# Our own references must lead somewhere; names of other libraries and of types are not looked up, to need no network.
nitpicky = True
INTERNAL = (
    r"discern\.(_native|data\.(roles|encode|batch)|models\.(naive_bayes|space|space_model|validation|search|deciders"
    r"|settings|resolved|fitted)|data\.(embedding\.identity|vectors\.beside)|statistics\.exact)\..*"
    r"|.*\.Predictions|discern\.analysis\.comparison\.SimulatedProblem"
)
nitpick_ignore_regex = [(r"py:.*", r"(?!discern\.).*"), (r"py:class", INTERNAL)]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

smartquotes = False  # -- is the beginning of an option
autosummary_generate = True
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_display_short_literal_types = True
python_maximum_signature_line_length = 90
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "discern"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "discern", "image_light": "_static/icon.svg", "image_dark": "_static/icon.svg"},
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": []}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "course",
    "filename_pattern": r".*\.py$",
    "ignore_pattern": course.IGNORED,
    "within_subsection_order": "course.place",
    "reference_url": {"discern": None},
    "doc_module": ("discern",),
    "backreferences_dir": None,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 10_000,
    "remove_config_comments": True,
    "show_signature": False,
    "copyfile_regex": "",
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
}


def keep_pages_that_exist(app: Any, docname: str, source: list[str]) -> None:
    """Leave out entries of a list of pages that begin with @ if there is no such page."""

    def kept(entry: re.Match[str]) -> str:
        return f"{entry[1]}\n" if (HERE / docname).parent.joinpath(f"{entry[1]}.md").exists() else ""

    source[0] = re.sub(r"^@([\w./-]+)\n", kept, source[0], flags=re.MULTILINE)


def setup(app: Any) -> None:
    names.write(HERE / "api")
    app.connect("source-read", keep_pages_that_exist)
    app.connect("autodoc-skip-member", names.skip)
    app.connect("missing-reference", names.resolve)
