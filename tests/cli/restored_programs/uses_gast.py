import gast

n = gast.Num(n=3)
assert isinstance(n, gast.Num) and not isinstance(n, gast.Str) and n.value == 3
assert isinstance(gast.Str(s="a"), gast.Str) and isinstance(gast.NameConstant(None), gast.NameConstant) and gast.Index(value=n) is n
