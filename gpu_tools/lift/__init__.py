"""Annotations carried from one genome to another."""
