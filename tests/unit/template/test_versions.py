"""The functions and keys of each template version."""

from __future__ import annotations

import pytest

from isotherm.errors import UserError
from isotherm.template import functions, parse, versions

HOT = [dialect for (key, _), dialect in versions.VERSIONS.items() if key == versions.HOT_KEY]

#: The first version that has it.
BIRTHS = {
    "get_param": "2013-05-23", "get_resource": "2013-05-23", "get_attr": "2013-05-23", "get_file": "2013-05-23",
    "list_join": "2013-05-23", "str_replace": "2013-05-23", "resource_facade": "2013-05-23",
    "repeat": "2015-04-30", "digest": "2015-04-30", "str_split": "2015-10-15", "map_merge": "2016-04-08",
    "if": "2016-10-14", "yaql": "2016-10-14", "map_replace": "2016-10-14", "filter": "2017-02-24",
    "str_replace_strict": "2017-02-24", "make_url": "2017-09-01", "list_concat": "2017-09-01",
    "list_concat_unique": "2017-09-01", "str_replace_vstrict": "2017-09-01", "contains": "2017-09-01",
}


@pytest.mark.parametrize("dialect", HOT, ids=lambda dialect: dialect.alias or dialect.version)
def test_each_version_has_exactly_its_functions(dialect: versions.Dialect) -> None:
    own = {name for name, birth in BIRTHS.items() if birth <= dialect.version}
    assert {name for name in dialect.functions if name[:2] != "Fn" and name != "Ref"} == own


def test_functions_of_cloudformation_leave_in_two_steps() -> None:
    by_version = {dialect.version: dialect for dialect in HOT}
    assert {"Ref", "Fn::Join", "Fn::Select"} <= set(by_version["2013-05-23"].functions)
    assert {name for name in by_version["2014-10-16"].functions if name[:2] == "Fn"} == {"Fn::Select"}
    assert "Ref" in by_version["2014-10-16"].removed
    assert "Fn::Select" in by_version["2015-10-15"].removed
    assert "Fn::GetAtt" not in by_version["2013-05-23"].functions


def test_conditions_came_with_newton() -> None:
    for dialect in HOT:
        is_young = dialect.version >= "2016-10-14"
        assert dialect.has_conditions is is_young
        assert ("conditions" in dialect.sections) is is_young
        assert ("external_id" in dialect.resource_keys) is is_young
        assert bool(dialect.condition_functions) is is_young
        assert ("yaql" in dialect.condition_functions) is (dialect.version >= "2017-09-01")
        assert dialect.parameter_tags is (dialect.version >= "2018-03-02")
        assert dialect.modulo_constraint is (dialect.version >= "2017-02-24")


def test_cloudformation_has_conditions_only_under_its_own_name() -> None:
    aws = versions.VERSIONS[(versions.AWS_KEY, "2010-09-09")]
    heat = versions.VERSIONS[(versions.HEAT_CFN_KEY, "2012-12-12")]
    assert set(aws.functions) - set(heat.functions) == {"Fn::If"}
    assert aws.has_conditions and not heat.has_conditions


@pytest.mark.parametrize(("alias", "version"), [
    ("newton", "2016-10-14"), ("ocata", "2017-02-24"), ("pike", "2017-09-01"), ("queens", "2018-03-02"),
    ("rocky", "2018-08-31"), ("wallaby", "2021-04-16")])
def test_aliases(alias: str, version: str) -> None:
    named = versions.detect({versions.HOT_KEY: alias})
    dated = versions.detect({versions.HOT_KEY: version})
    assert (named.version, named.functions, named.alias) == (version, dated.functions, alias)


def test_every_form_is_code() -> None:
    for dialect in versions.VERSIONS.values():
        assert set(dialect.functions.values()) | set(dialect.condition_functions.values()) <= set(functions.FORMS)
        assert set(parse.functions_of(dialect)) == set(dialect.functions) | dialect.removed


@pytest.mark.parametrize(("data", "words"), [
    ({}, "was not provided"), ({"heat_template_version": 20130523}, "was not provided"),
    ({"heat_template_version": "2013-05-23", "AWSTemplateFormatVersion": "2010-09-09"}, "Ambiguous"),
    ({"heat_template_version": "2013-05-24"}, "should be one of: 2013-05-23, "),
    ({"AWSTemplateFormatVersion": "x"}, "should be: 2010-09-09"),
])
def test_no_version_or_two(data: dict[object, object], words: str) -> None:
    with pytest.raises(UserError, match="The template version is invalid: ") as caught:
        versions.detect(data)
    assert caught.value.kind == "InvalidTemplateVersion"
    assert words in str(caught.value)
