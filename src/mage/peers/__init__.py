"""Whom to ask: contextual exploration among peers (MACE, arXiv 2607.11250)."""
