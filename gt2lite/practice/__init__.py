"""The method for your own data: estimators, rules, model files and reports.

This is the upper layer: it imports the method in `gt2lite`, and nothing there imports it.
"""
