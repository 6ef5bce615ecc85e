"""Records what `tf_upgrade_v2` of TensorFlow 1.15 knows of the API, for `tfcompat/_src/tools/compatibility/upgrade_tables.json`.

Run with the real program: `python3.7 tests/oracle/record_upgrade_tables.py tfcompat/_src/tools/compatibility/upgrade_tables.json`.
"""

import ast
import functools
import json
import sys

from tensorflow.tools.compatibility import (
    all_renames_v2,
    module_deprecations_v2,
    renames_v2,
    reorders_v2,
    tf_upgrade_v2,
    tf_upgrade_v2_safety,
)


def change(function):
    """A change of calls as its name without the frame that all names have, and its arguments."""
    options = {}
    if isinstance(function, functools.partial):
        options, function = function.keywords, function.func
    plain = {}
    for name, value in options.items():
        if isinstance(value, ast.AST):
            value = ast.literal_eval(value)
        elif callable(value):
            value = value.__name__[len("_is_ast_"):]
        plain[name] = value
    return [function.__name__[1:-len("_transformer")], plain]


def main(path):
    spec, safety = tf_upgrade_v2.TFAPIChangeSpec(), tf_upgrade_v2_safety.TFAPIChangeSpec()
    tables = {
        "renames": renames_v2.renames,
        "manual_renames": all_renames_v2.manual_symbol_renames,
        "addons": all_renames_v2.addons_symbol_mappings,
        "reorders": reorders_v2.reorders,
        "manual_reorders": spec.manual_function_reorders,
        "reordered_names": sorted(spec.reordered_function_names),
        "keyword_renames": spec.function_keyword_renames,
        "warnings": spec.function_warnings,
        "argument_warnings": [
            [name, argument, position, level, message]
            for name, rows in spec.function_arg_warnings.items()
            for (argument, position), (level, message) in rows.items()
        ],
        "module_deprecations": module_deprecations_v2.MODULE_DEPRECATIONS,
        "call_changes": {name: change(function) for name, function in spec.function_transformers.items()},
        "safety_warnings": safety.function_warnings,
        "safety_imports": {name: list(row) for name, row in safety.import_renames.items()},
        "safety_inserts": [[name, alias, lines] for (name, alias), lines in safety.inserts_after_imports.items()],
    }
    automatic = dict(tables["renames"])
    for name in tables["manual_renames"]:
        automatic.pop(name, None)
    tables["renames"] = automatic
    assert {**automatic, **tables["manual_renames"]} == all_renames_v2.symbol_renames
    with open(path, "w") as file:
        json.dump(tables, file, indent=0, sort_keys=True)
        file.write("\n")


main(sys.argv[1])
