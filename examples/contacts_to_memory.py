#!/usr/bin/env -S codemode exec --server memory
"""Puts the contacts of a CSV on standard input into memory: a column called name, and others.

    contacts_to_memory.py <contacts.csv
"""
import csv
import sys

entities = []
for row in csv.DictReader(sys.stdin):
    name = row.pop("name")
    facts = [f"{what}: {value}" for what, value in row.items() if value]
    entities.append({"name": name, "entityType": "person", "observations": facts})
await mcp_memory.create_entities(entities=entities)
print(len(entities), "contacts")
