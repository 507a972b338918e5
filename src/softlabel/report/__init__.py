"""Renders what was computed: tables, figures, pages."""
