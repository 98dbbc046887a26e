#!/usr/bin/env python3
"""Writes src/text/testdata/jinja.json: small templates with what jinja2 makes of them, for chat_template_test.

Usage: make_jinja_goldens.py [--out FILE]

Each case is [template, prompt] or [template, null] where jinja2 raises. All run with VARIABLES as
chat_template_kwargs, in the environment of compare_templates.py. Covers every filter, test, method and operator of
the subset, slices, whitespace control, scoping, macros, loops and how values print. Needs jinja2 3.1.6 from PyPI:
Debian's 3.1.2 lets templates change lists.
"""
import argparse
import itertools
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compare_templates  # noqa: E402  (beside this file)

VARIABLES = {
    "s": "Hello, World", "u": "straße ΑΣ ﬁn ǆ", "e": "", "w": "  two  words\n", "q": "it's \"x\"\\\t\u00a0\u200b😀",
    "n": 42, "z": 0, "neg": -7, "f": 2.5, "big": 1e22, "tiny": 1.5e-7, "t": True, "no": False, "nil": None,
    "l": [3, 1, 2], "ll": ["b", "A", "c", "a"], "d": {"b": 1, "a": [1, {"x": "<&>"}], "C": None},
    "people": [{"name": "Ann", "age": 30, "tag": {"k": "v"}}, {"name": "bob", "age": 25}, {"name": "Cy", "age": 30}],
    "html": "<b>&'\"</b>", "empty": [], "eo": {}, "m": 18446744073709551615, "num": " 12_3 ", "path": "a.b.c",
}

EXPRESSIONS = """
s|upper  s|lower  u|upper  u|lower  u|title  u|capitalize  s|capitalize  "hello wOrld-foo (bar) x<y"|title
"they're bill's"|title  w|trim  w|trim("\\n ")  s|trim("Hd")  s|replace("l","L")  s|replace("l","L",2)
s|replace("","-")  s|length  u|length  e|length  l|length  d|length  n|length  nope|length  s|count
s|first  s|last  l|first  l|last  empty|first  empty|last  nope|first  d|first  l|list  s|list  d|list  n|list
l|reverse|list  s|reverse  d|reverse|list  l|join(", ")  ll|join  d|join("-")  people|join(",",attribute="name")
nope|join(",")  nope|default("x")  e|default("x")  e|default("x",true)  nil|default("x")  nil|d("x",boolean=true)
l|sort  l|sort(reverse=true)  ll|sort  ll|sort(case_sensitive=true)  people|sort(attribute="age")|map(attribute="name")|list
people|sort(attribute="age,name")|map(attribute="name")|list  people|sort(attribute="name",reverse=true)|map(attribute="name")|join
ll|unique|list  [1,1.0,true,2]|unique|list  ll|unique(case_sensitive=true)|list  people|unique(attribute="age")|map(attribute="name")|list
l|min  l|max  ll|min  ll|max  empty|min  people|max(attribute="age")  l|sum  people|sum(attribute="age")  l|sum(start=10)  ll|sum
people|map(attribute="tag.k")|list  people|map(attribute="tag",default="-")|list  people|map(attribute="nope",default=0)|list
ll|map("upper")|list  ll|map("replace","a","-")|list  ll|map|list  ll|map("nofilter")|list  empty|map("nofilter")|list
l|select("odd")|list  l|select|list  [0,1,""]|select|list  l|reject("odd")|list  l|select(">",1)|list  l|select("divisibleby",3)|list
people|selectattr("age","equalto",30)|map(attribute="name")|list  people|selectattr("tag")|list|length  people|selectattr("tag","defined")|list|length
people|rejectattr("tag","defined")|map(attribute="name")|list  people|rejectattr("age",">=",30)|list  people|selectattr("name","in",["Cy"])|list|length
people|groupby("age")  people|groupby("age")|map(attribute="grouper")|list  people|groupby("tag.k",default="none")|map("first")|list  people|groupby("age")|map("last")|map("length")|list
d|dictsort  d|dictsort(true)  d|dictsort(reverse=true)  {"a":2,"b":1}|dictsort(false,"value")  d|dictsort(by="x")  l|dictsort
d|items|list  nope|items|list  l|items|list  d.items()|list  d|items|length
l|batch(2)|list  l|batch(2,"-")|list  l|slice(2)|list  l|slice(2,"-")|list  range(10)|slice(3)|list  l|slice(0)|list
s|center(20)  s|center(21)  "ab"|center(5)  s|center  s|indent  "a\\nb\\n\\nc"|indent  "a\\nb\\n\\nc"|indent(2,true)  "a\\nb\\n\\nc"|indent(2,blank=true)  "a\\nb"|indent("> ")  "a\\n"|indent  n|indent
"foo bar baz qux"|truncate(9)  "foo bar baz qux"|truncate(9,true)  "foo bar baz qux"|truncate(11)  "foo bar baz qux"|truncate(11,false,"...",0)  s|truncate(2)
s|wordcount  w|wordcount  u|wordcount  s|urlencode  "a b/ü&c"|urlencode  {"a b":"c/d","e":1}|urlencode  [("x",1)]|urlencode
"%s-%d"|format("a",3)  "%(x)s"|format(x=1)  "%05.1f|%-5s|%5s|%+d|%x|%X|%o|%e|%g|%%"|format(3.14159,"ab","cd",5,255,255,8,12345.678,0.0001)  "%s"|format  "%d"|format("x")  "%s %s" % ("a","b")  "%s" % 5  "%r" % "x"  "%s" % [1]  "%d" % 3.9  "%c" % 65
n|int  "42"|int  "42.9"|int  "x"|int  "x"|int(7)  "0x1f"|int(0,16)  "ff"|int(base=16)  num|int  nil|int  l|int  t|int  f|int  "1e3"|int  " 7 "|int  "nan"|int  "inf"|int(3)  nope|int
n|float  "2.5"|float  "x"|float  "x"|float(1.5)  "1e3"|float  "inf"|float  "-nan"|float  nil|float  t|float  "1_0.5"|float  ".5"|float  "5."|float  "0x10"|float
neg|abs  f|abs  (-2.5)|abs  s|abs  t|abs  f|round  3.5|round  2.675|round(2)  42.55|round(1,"floor")  42.51|round(1,"ceil")  n|round  n|round(-1)  45|round(-1)  1234.5|round(-2)  f|round(0,"x")  s|round
html|e  html|escape  html|safe|e  html|safe|forceescape  html|forceescape  html|safe  (html|safe)+html  html+(html|safe)  (html|safe)~html  (html|safe)|upper  ("%s"|safe)|format(html)  (html|safe).replace("b","<")  ("<"|safe).join([html,"x"])  [html|safe]|string  html|safe is escaped  html is escaped  (html|e)|length
s|string  n|string  nil|string  d|string  f|string  t|string  l|string  nope|string  (1,)|string  ()|string  [nope]|string  [q]|string  q  d  l  people
s|tojson  q|tojson  u|tojson(ensure_ascii=true)  q|tojson(ensure_ascii=true)  d|tojson  d|tojson(indent=2)  d|tojson(indent=0)  d|tojson(sort_keys=true)  {"b":1,"a":2}|tojson(sort_keys=true,indent=4)  d|tojson(separators=(",",":"))  d|tojson(indent="--")  l|tojson  (1,2)|tojson  nil|tojson  t|tojson  f|tojson  big|tojson  m|tojson  nope|tojson  empty|tojson(indent=2)  eo|tojson(indent=2)  {1:2,none:3,true:4,1.5:5}|tojson  {(1,2):3}|tojson  range(3)|tojson  (l|map("string"))|tojson  "</script>'&"|tojson  d|tojson(indent=none)
s|attr("upper")  d|attr("b")  d|attr("nope")  s|attr("nope")  people|map(attribute=0)|list  l|nofilter  l|first|nofilter
"a"~1~nil~t~2.0  "a"+"b"  "a"+1  1+1.5  l+[9]  (1,)+(2,)  l+(1,)  d+d  nil+1  nope+1  nope~"x"  "ab"*3  3*"ab"  "ab"*-1  [1]*2  "a"*1.5  7/2  7//2  -7//2  -7%3  7%-3  7.5%2  -7.5//2  2**10  2**-1  2**0.5  (-8)**2  2**3**2  -2**2  1/0  1//0  1%0  1.0/0  7/1  6/3
1<2<3  1<2>3  1==1.0  1==true  "1"==1  nil==none  nope==nope2  nope==none  [1,2]==[1,2.0]  (1,2)==[1,2]  {"a":1}=={"a":1.0}  "a"<"b"  "Z"<"a"  "é">"z"  [1,2]<[1,3]  1<"a"  nil<1  [1]<[1,0]  not 1  not e  not not s  1!=2  s!=s  1<=1>=1  nope<1  nope>1
"ell" in s  1 in l  9 not in l  "b" in d  1 in s  1 in n  none in [none]  nope in l  "a" in nope  l in d  (1) in (1,2)  "" in e  2 in range(3)  "b" in d.keys()  1 in d.values()
s[0]  s[-1]  s[99]  s[1:4]  s[:-1]  s[::-1]  s[::2]  s[-3:]  s[5:2]  s[4:1:-1]  s[::0]  u[1:3]  u[-1]  u[::-1]  l[0]  l[-1]  l[9]  l[1:]  l[::-1]  l[:99]  l[-99:2]  l["x"]  l[1.0]  l[true]  d["b"]  d["zz"]  d[0]  d[1:2]  d.b  d.zz  d.zz.y  d["a"][1]["x"]  d.a.1.x  d.a[1].x  n.x  nil.x  nil["x"]  nope.x  nope["x"]  nope[0]  nope[1:]  n[0]  (1,2)[1]  (1,2,3)[:2]  s["upper"]()  d["get"]("b")  d.items  l[none:none]  l["a":]  range(5)[1]  range(5)[1:3]|list  {1:"i",1.0:"f",true:"t"}  {"a":1,"a":2}
s.upper()  s.lower()  s.title()  u.title()  "ǆ".title()  s.capitalize()  s.swapcase()  w.strip()  w.lstrip()  w.rstrip()  s.strip("Hd")  s.lstrip("He")  s.rstrip("dl")  s.strip(none)  s.split()  w.split()  s.split(",")  s.split("l",1)  s.split("")  s.rsplit("l",1)  w.rsplit(none,1)  w.split(none,1)  s.split(sep="o",maxsplit=1)  " a  b ".rsplit()  "a\\nb\\r\\nc\\x0bd".splitlines()  "a\\nb\\n".splitlines(true)  s.startswith("He")  s.startswith(("x","H"))  s.startswith("e",1)  s.endswith("ld")  s.endswith(("x",))  s.startswith(1)  s.find("l")  s.find("zz")  s.rfind("l")  s.index("zz")  s.index("o",5)  s.count("l")  s.count("")  s.count("l",4)  u.find("Σ")  s.replace("l","")  s.replace("l","x",1)  s.replace("x")  "-".join(ll)  "-".join(l)  ",".join("abc")  s.center(16,"*")  s.ljust(14,".")  s.rjust(14)  "42".zfill(5)  "-42".zfill(5)  s.partition(",")  s.rpartition("l")  s.partition("zz")  s.rpartition("zz")  s.removeprefix("He")  s.removesuffix("ld")  "{} {}".format(1,"a")  "{1}{0}".format(1,2)  "{x}".format(x=3)  "{0.x}{0[y]}".format({"x":1,"y":2})  "{:>5}|{:<5}|{:^5}|{:*^7}".format("a","b","c","d")  "{:05d} {:,} {:.2f} {:+d} {:x} {:b} {:%} {:e}".format(42,1234567,3.14159,5,255,5,0.25,12345.678)  "{{}}{}".format(1)  "{}".format()  "{!r}".format("a")  "{:d}".format("a")  "{:s}".format(1)  "{:5}|{:5}".format(1,"a")  "{:_}".format(1234567)  "{:.3}".format("abcdef")  "{:g}".format(0.5)  "{:}".format(2.0)  "{}|{:5}|{:d}".format(t,t,t)  "{:5}".format(nil)  "{}".format(l)  "%3c|%c" % (65,"é")  "%c" % "ab"
"abc".isalpha()  "ab1".isalnum()  "12".isdigit()  "²".isdigit()  "²".isdecimal()  "½".isnumeric()  " ".isspace()  "".isspace()  "Ab".isupper()  "AB1".isupper()  "ab".islower()  "Ab Cd".istitle()  "é".isascii()  s.nomethod()  s.upper(1)  s.__class__  s.__len__()  s.upper.__self__
d.get("b")  d.get("zz")  d.get("zz","q")  d.get()  d.keys()  d.values()  d.items()  d.keys()|list  d.values()|list  d.copy()  d.pop("b")  d.update({})  d.setdefault("x",1)  d.clear  l.append(1)  l.pop()  l.index(1)  l.index(9)  l.count(1)  l.copy()  l.sort()  l.append is defined  d.pop is defined  l.__class__ is defined
n is defined  nope is defined  nope is undefined  nil is none  n is none  nope is none  s is string  (s|safe) is string  n is string  n is number  f is number  t is number  n is integer  t is integer  f is float  t is boolean  n is boolean  t is true  1 is true  no is false  0 is false  d is mapping  l is mapping  l is iterable  s is iterable  n is iterable  nope is iterable  d is iterable  l is sequence  s is sequence  d is sequence  n is sequence  nope is sequence  range(2) is sequence  d.keys() is sequence  d.items() is iterable  (l|map("string")) is iterable  (l|map("string")) is sequence  s is callable  s.upper is callable  range is callable  nope is callable  n is even  n is odd  3 is odd  s is odd  f is even  n is divisibleby(7)  n is divisibleby 5  n is divisibleby 0  s is lower  "abc" is lower  "ABC" is upper  1 is upper  n is eq(42)  n is equalto 42  n is ne 1  n is gt 1  n is greaterthan(50)  n is ge 42  n is lt 50  n is lessthan 1  n is le 42  n is in [42]  n is in(l)  n is sameas n  t is sameas true  1 is sameas true  nil is sameas none  "upper" is filter  "nof" is filter  "odd" is test  "noo" is test  n is not defined  n is not none and t  n is notatest  s is string(1)  not nope is defined  n is defined is true
1 if t  1 if no  1 if no else 2  (1 if no) is defined  1 if no else 2 if no else 3  t and s  e or "x"  nil and nope.x  t or nope.x  e and 1  0 or no  not t or t  1 and 0 or 3
range(3)  range(3)|list  range(1,10,3)|list  range(5,0,-2)|list  range(0)|list  range(1,2,0)  range(200000)  range("a")  range(2,5)|length  dict(a=1)  dict([("a",1)],b=2)  dict(d,b=9)  namespace(a=1).a  namespace(a=1)  namespace(a=1).b  namespace({"x":2}).x  namespace(a=1)["a"]  cycler(1,2).next()  joiner()()  cycler()  raise_exception("no")  strftime_now("%Y-%m-%d %H:%M:%S %A %b %j %%")  strftime_now("%d %f|%z|")  lipsum  range
-n  +n  -f  -t  +t  -s  - -n  -n|abs  -2|abs  not-n  1_000  0x1F  0o17  0b101  1e3  1.5e-3  1_0.2_5  00  1.0  100000000000000000000.0  1e16  1e15  123456789.123  0.0001  0.00001  -0.0  1e300*1e10  5e-324  0.1+0.2  "a" "b"  'it\\'s'  "\\x41\\u00e9\\U0001F600\\101\\d"  "a\\
b"  [1,2,]  (1,)  (1,2,)  ()  {}  []  {"a":1,}  [[1,[2]],{"k":(1,)}]  {"a":{"b":[none,true]}}  (1)  ((1))  l[0]+l[1]*2  l[-1:][0]  s.split(",")[1].strip()|upper  (s|upper)[0]  s|upper[0]  s is defined|string  d.b|string ~ "x"  1+2|string  1|string+"x"  n*-1  2*-n  [*l]  f(1)  s()  nope()  d.b()  t.x  big  tiny  m  m+1  f*2  1/3  1e22  n/1  3.0|int  1.5|string  [1.0,2.5,none,true,"a"]
"""

STATEMENTS = [
    "{% if t %}\n  yes\n{% endif %}\nend", "{% if t -%}\n  yes\n{%- endif %}\nend", "a {%- if t %} b {% endif -%} c",
    "  {% if t %}x{% endif %}\n", "  {%+ if t %}x{% endif +%}\n y", "a\n  {# comment #}\nb", "a {#- c -#} b", "{{ s }}\n\n",
    "a\n{% set x = 1 %}\n{{ x }}\n", "\t{% set x = 1 -%}\n\n  {{ x -}}  \n z", "{% raw %}{{ x }}{% if %}{% endraw %}",
    "a {%- raw -%}  {{ }}  {%- endraw -%} b", "  {% raw %}\n x {% endraw %}\ny", "{{- s -}}", " {{- s }} {{ s -}} ",
    "line\r\nnext\rlast\n", "{{ '{{' }}{{ '}}' }}", "{{ {'a': {'b': 1}} }}", "{{ {'a':{}}}}", "x{##}y", "x{#-#}y", "{{ 1 }}{% print 1, 'a' %}",
    "{% for x in l %}{{ x }}{% endfor %}", "{% for x in l %}\n{{ x }}\n{% endfor %}", "{% for x in empty %}a{% else %}none{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}|{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}",
    "{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem is undefined }} {% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x > 1) }}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in d|items %}{{ k }}{% endfor %}",
    "{% for k in d %}{{ k }}{% endfor %}", "{% for a, b in [[1, 2, 3]] %}{% endfor %}", "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}{{ x }}{{ loop.length }}{% else %}none{% endfor %}",
    "{% for x in l if x > 9 %}{{ x }}{% else %}none{% endfor %}", "{% for x in n %}{% endfor %}", "{% for x in nope %}a{% else %}b{% endfor %}",
    "{% for c in u %}{{ c }}.{% endfor %}", "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% else %}e{% endfor %}", "{% break %}", "{% for x in l %}{% for y in l %}{% if y == 1 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}",
    "{% set x = 1 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}{{ x }}", "{% for i in l %}{% set y = i %}{% endfor %}{{ y is defined }}",
    "{% set ns = namespace(c=0) %}{% for i in l %}{% set ns.c = ns.c + i %}{% endfor %}{{ ns.c }}", "{% set d.x = 1 %}", "{% set ns = namespace() %}{% set ns.a, ns.b = 1, 2 %}{{ ns.a }}{{ ns.b }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a = 1, 2 %}{{ a }}", "{% set (a, b) = [1, 2] %}{{ b }}", "{% set a, b = [1] %}", "{% set true = 1 %}",
    "{% if t %}{% set v = 1 %}{% endif %}{{ v }}", "{% if no %}{% set s = 1 %}{% endif %}{{ s }}", "{% set x %}a{{ n }}b{% endset %}{{ x }}{{ x|length }}", "{% set x | upper | replace('A', '-') %}abc{% endset %}{{ x }}",
    "{% set x %}{% set y = 1 %}{% endset %}{{ y is defined }}", "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter replace('a', 'b') | upper %}aa{% endfilter %}", "{% filter nofilter %}a{% endfilter %}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}", "{% set a = 5 %}{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}", "{% with %}{% set q = 1 %}{% endwith %}{{ q }}",
    "{% macro f(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ f(1) }} {{ f(1, b=3) }} {{ f(b=1, a=9) }}", "{% macro f(a) %}{{ a is defined }}{{ a }}{% endmacro %}{{ f() }}", "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(c=2) }}", "{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, x=4) }}", "{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}",
    "{% macro f() %}{{ caller() }}!{% endmacro %}{% call f() %}body{{ n }}{% endcall %}", "{% macro f() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b=7) f() %}{{ a }}{{ b }}{% endcall %}", "{% macro f() %}x{% endmacro %}{% call f() %}y{% endcall %}",
    "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{% macro f() %}{{ v }}{% endmacro %}{% set v = 3 %}{{ f() }}", "{% macro f() %}{% set v = 4 %}{{ v }}{% endmacro %}{{ f() }}{{ v is defined }}",
    "{% if t %}{% macro f() %}in{% endmacro %}{% endif %}{{ f() }}", "{% for i in l %}{% macro f() %}{{ i }}{% endmacro %}{{ f() }}{% endfor %}", "{% macro f(x) %}{{ x }}{% endmacro %}{{ f(*[1]) }}{{ f(**{'x': 2}) }}{{ f(*l) }}", "{% macro f(x) %}  {{ x }}\n{% endmacro %}[{{ f(1) }}]{{ f(1)|trim }}",
    "{% macro f(a, b) %}{% endmacro %}{{ f.name }}", "{% macro f(a=1, b) %}{% endmacro %}", "{% for x in [[1, [2, []]]] recursive %}{{ x[0] }}{% if x[1] %}{{ loop([x[1]]) }}{% endif %}{{ loop.depth }}{% endfor %}", "{% for x in l %}{{ loop(l) }}{% endfor %}",
    "{% generation %}a{{ n }}{% endgeneration %}", "{% generation %}{% set g = 1 %}{% endgeneration %}{{ g is defined }}", "{% if no %}a{% elif t %}b{% else %}c{% endif %}", "{% if no %}a{% elif no %}b{% else %}c{% endif %}", "{% if nope %}a{% else %}c{% endif %}", "{% if t: %}a{% endif %}", "{% if %}a{% endif %}",
    "{% if t %}", "{% endif %}", "{% foo %}", "{{ }}", "{{ 1 2 }}", "{{ 1 + }}", "{{ (1 }}", "{{ 'a }}", "{{ a.1b }}", "{{ 1", "{% if t", "{# x", "{% raw %}", "{% raw %} x", "{#", "{{ ] }}", "{{ a ; b }}", "{{ a ! b }}", "{% set %}", "{% for %}{% endfor %}", "{% for x in l %}", "{% macro %}{% endmacro %}", "{{ f(a=1, 2) }}", "{{ f(a=1, a=2) }}", "{{ f(**d, *l) }}",
    "{% if no %}{{ 1|nofilter }}{% endif %}ok", "{% if no %}{% for x in l %}{{ x|nofilter }}{% endfor %}{% endif %}ok", "{{ 1|nofilter if no else 2 }}", "{% if no %}{{ 1 is notest }}{% endif %}ok", "{% for x in l %}{{ loop.nope is defined }}{% endfor %}",
    "{% set x = namespace(a=[]) %}{% set x.a = x.a + [1] %}{% set x.a = x.a + [2] %}{{ x.a }}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() }}{{ c.current }}", "{% set j = joiner('|') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}",
    "{% set g = l|map('string') %}{{ g|join('-') }}{{ g|join('-') }}", "{% set g = l|map('string') %}{{ g|first }}{{ g|list }}", "{{ messages }}", "{{ messages is defined }}{{ tools is defined }}", "{% set loop = 1 %}{{ loop }}", "{{ loop }}", "{% for loop_ in l %}{{ loop_ }}{% endfor %}",
    "{% for x in l %}{% set outer = loop %}{% for y in ll[:1] %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}", "{% for x in l|sort %}{{ x }}{% endfor %}{% for x in l|reverse %}{{ x }}{% endfor %}", "{% for x in 1, 2 %}{{ x }}{% endfor %}", "{% for x in (l if t else ll) %}{{ x }}{% endfor %}", "{% for x in d.a %}{{ x }}{% endfor %}",
    "{% extends 'a' %}", "{% include 'a' %}", "{% import 'a' as b %}", "a\n\n{%- if t %}\n\n b\n{%- endif %}\n\nc", "{% if t %}a{% endif %}\n\n{% if t %}b{% endif %}\n", "   {{ s }}   {% if t %}   x", "a\n    {%- set x = 1 %}\n    b", "{%- set x = 1 -%}\n  {%- set y = 2 %}\n  z", " \n {% if t %} \n a \n {% endif %} \n b",
    "\u00a0{% if t %}x{% endif %}", "a\u2003{%- if t %}x{% endif %}", "{{ 'é' ~ u }}", "{% set é = 1 %}{{ é }}", "{% for x in range(3) %}{{ x }},{% endfor %}", "{{ s\n  | upper\n  | replace('L',\n 'x') }}", "{%if t%}a{%endif%}", "{{s}}{{-s-}}", "{{ '%' }}{% if t %}%}{% endif %}", "{ { s } } {%", "{", "{{", "}}", "%}", "",
    "{% set x = d.get('a')[1].x %}{{ x }}", "{{ l.append }}", "{{ l.append|string }}", "{% set _ = l.append(1) %}", "{% if l.append is undefined %}hidden{% endif %}", "{% set self = 1 %}{{ self }}", "{{ caller is defined }}", "{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}",
]


def expressions() -> list[str]:
    """The expressions of the table: separated by two spaces outside of strings and brackets, or by lines."""
    found, current, quote, depth = [], "", "", 0
    text = EXPRESSIONS.strip("\n")
    at = 0
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                current += text[at:at + 2]
                at += 2
                continue
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif depth == 0 and (text.startswith("  ", at) or char == "\n"):
            if current.strip():
                found.append(current.strip())
            current = ""
            at += 1
            continue
        current += char
        at += 1
    return found + ([current.strip()] if current.strip() else [])


def more() -> list[str]:
    """Pairs of values under every comparison and arithmetic operator, and every value under every plain test."""
    values = ["n", "f", "t", "nil", "s", "l", "d", "nope", "(1,2)", "neg"]
    for left, op, right in itertools.product(values, ["+", "-", "*", "//", "%", "==", "<", ">=", "in"], values):
        yield f"{left} {op} {right}"
    tests = ["defined", "none", "string", "number", "mapping", "iterable", "sequence", "callable", "boolean", "integer"]
    things = ["n", "s", "l", "d", "nil", "nope", "t", "(1,)", "range(2)", "d.items()", "s.upper", "namespace()", "(l|map('string'))"]
    for thing in things:
        yield "~'|'~".join(f"({thing} is {test})" for test in tests)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parents[1]
    parser.add_argument("--out", type=pathlib.Path, default=root / "src" / "text" / "testdata" / "jinja.json")
    arguments = parser.parse_args()
    if tuple(map(int, compare_templates.jinja2.__version__.split("."))) < (3, 1, 6):
        print("jinja2 3.1.6 or later is needed", file=sys.stderr)
        return 2
    os.environ["TZ"] = "UTC"
    request = {"messages": [], "chat_template_kwargs": VARIABLES}
    cases = []
    for template in ["{{ " + text + " }}" for text in [*expressions(), *more()]] + STATEMENTS:
        kind, text = compare_templates.reference(template, request)
        if " at 0x" in text:
            continue  # an address: prints differently each time
        cases.append([template, text if kind == "text" else None])
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    header = json.dumps(VARIABLES, ensure_ascii=False)
    arguments.out.write_text(f'{{"clock": {compare_templates.CLOCK},\n"variables": {header},\n"cases": [\n{lines}\n]}}\n')
    print(f"{arguments.out}: {len(cases)} cases, {sum(case[1] is None for case in cases)} of them refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
