"""The functions of the template language, by the forms that `versions` names."""

from __future__ import annotations

from isotherm.template.functions import collections, expressions, logic, references, repeat, sources, text, url
from isotherm.template.functions.node import Function

_ALL: tuple[type[Function], ...] = (
    references.GetResource, references.GetAttr, references.GetAttrThenSelect, references.GetAttrAll, references.GetAtt,
    references.GetParam, references.Ref, references.ResourceRef, references.ParamRef,
    text.Join, text.CfnJoin, text.JoinMultiple, text.Replace, text.CfnReplace, text.ReplaceJson, text.ReplaceStrict,
    text.ReplaceVeryStrict, text.Split, text.CfnSplit, text.Digest, text.Base64,
    collections.MapMerge, collections.MapReplace, collections.Filter, collections.Contains, collections.ListConcat,
    collections.ListConcatUnique, collections.MemberListToMap, collections.Select,
    repeat.Repeat, repeat.RepeatWithMap, repeat.RepeatNested,
    url.MakeUrl, expressions.Yaql,
    sources.GetFile, sources.FindInMap, sources.GetAzs, sources.ResourceFacade,
    sources.CfnResourceFacade,
    logic.If, logic.IfNullable, logic.Equals, logic.Not, logic.CfnNot, logic.And, logic.Or, logic.Removed,
)

#: form -> class; also what a frozen definition names its functions by.
FORMS: dict[str, type[Function]] = {each.form: each for each in _ALL}


def add(one: type[Function]) -> None:
    """Add a function of a plug-in. Called before the first template is read."""
    FORMS[one.form] = one
