"""Counting: what a history holds, and the badges it earns.

Badges and rules come from hermes-achievements (PCinkusz, MIT); the counting is ours.
"""
