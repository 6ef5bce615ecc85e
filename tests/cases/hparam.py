"""tf.contrib.training.HParams, parse_values, and where replica_device_setter's strategies put variables."""

from cases.table import Table

TABLE = Table("hparam")
case, error_case = TABLE.case, TABLE.error_case


def hparams(tf, **more):
    return tf.contrib.training.HParams(rate=0.1, layers=[8, 16], name="net", dropout=True, steps=100, **more)


TEXTS = {
    "scalars": "rate=0.25,steps=7,name=other,dropout=false",
    "lists": "layers=[1,2,3],rate=1e-3",
    "spaces": "layers=[1 2], rate=2",
    "numeric_bool": "dropout=0",
    "empty": "",
}
BAD = {
    "unknown": "width=3",
    "malformed": "rate==,",
    "twice": "rate=1,rate=2",
    "kind": "steps=1.5",
    "list_for_scalar": "rate=[1,2]",
    "scalar_for_list": "layers=3",
    "list_at_index": "layers[0]=[1,2]",
    "bad_bool": "dropout=perhaps",
    "bracket": "layers=[1,2",
}


def parsed(tf, text):
    found = hparams(tf).parse(text)
    return {"values": sorted(found.values().items(), key=str), "text": str(found), "repr": repr(found)}


for _name, _text in sorted(TEXTS.items()):
    case("parse_" + _name, lambda tf, t=_text: {k: repr(v) for k, v in parsed(tf, t).items()}, fetch=False)
for _name, _text in sorted(BAD.items()):
    error_case("parse_" + _name, lambda tf, t=_text: hparams(tf).parse(t))
TYPES = {"a": int, "b": float, "c": str, "d": bool}


def values_of(tf, text, **options):
    return {"found": repr(sorted(tf.contrib.training.parse_values(text, TYPES, **options).items()))}


case("values_indexed", lambda tf: values_of(tf, "a[2]=5,b=1,a[0]=7"), fetch=False)
case("values_unknown", lambda tf: values_of(tf, "a=1,z=3,c=x y", ignore_unknown=True), fetch=False)
error_case("values_index_twice", lambda tf: values_of(tf, "a[2]=5,a[2]=6"))
error_case("values_index_and_scalar", lambda tf: values_of(tf, "a=5,a[2]=6"))


def messages(tf):
    found = hparams(tf, labels=["x", "y"], flags=[True, False], rates=[0.5, 0.25])
    again = tf.contrib.training.HParams.from_proto(found.to_proto())
    return {"size": found.to_proto().ByteSize(), "again": repr(again)}


case("to_proto", messages, fetch=False)
case("to_json", lambda tf: {"text": hparams(tf).to_json(sort_keys=True, indent=1)}, fetch=False)
case("parse_json", lambda tf: {"text": repr(hparams(tf).parse_json('{"rate": 2.0, "layers": [3]}'))}, fetch=False)
case(
    "get",
    lambda tf: {"found": repr([hparams(tf).get("rate", 1.0), hparams(tf).get("none", 4), "rate" in hparams(tf)])},
    fetch=False,
)
error_case("get_kind", lambda tf: hparams(tf).get("rate", "x"))
error_case("get_list", lambda tf: hparams(tf).get("layers", 3))
error_case("empty_list", lambda tf: tf.contrib.training.HParams(a=[]))
error_case("taken", lambda tf: hparams(tf).add_hparam("rate", 1))
error_case("bool_for_int", lambda tf: hparams(tf).set_hparam("steps", True))
error_case("set_unknown", lambda tf: hparams(tf).set_hparam("width", True))


def placed(tf, strategy):
    chosen = strategy(tf.contrib.training)
    variables = [tf.Variable([0.0] * n, name="v") for n in (3, 1, 5, 2, 2)]
    return {"tasks": [int(chosen(v.op)) for v in variables]}


case("random_strategy", lambda tf: placed(tf, lambda t: t.RandomStrategy(4, 3)), fetch=False)
case(
    "greedy_strategy",
    lambda tf: placed(tf, lambda t: t.GreedyLoadBalancingStrategy(2, t.byte_size_load_fn)),
    fetch=False,
)
