"""Exact spliced alignment over all exons that splice sites allow, without listing them."""

from gpu_tools.sites.api import SiteCase, is_coding, site_align, tables_of
from gpu_tools.sites.model import GeneSites, load_sites

__all__ = ["GeneSites", "SiteCase", "is_coding", "load_sites", "site_align", "tables_of"]
