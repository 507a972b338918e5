"""Renders results: tables, figures, HTML pages and notebook output."""
