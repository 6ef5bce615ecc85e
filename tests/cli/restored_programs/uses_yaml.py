import yaml

assert yaml.load("a: [1, 2]") == {"a": [1, 2]} and list(yaml.load_all("--- 1\n--- 2")) == [1, 2]
assert yaml.load("b: 1", Loader=yaml.SafeLoader) == {"b": 1}
