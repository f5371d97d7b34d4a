"""Advice given to proposals and what came of it: to whom a recommendation is handed, who follows it, credit, effect."""
