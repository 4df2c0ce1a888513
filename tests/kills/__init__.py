"""Killing commands and the workflow at random moments, and looking at what they leave."""
