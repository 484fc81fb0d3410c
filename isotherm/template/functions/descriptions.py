"""One line about each function, for the lists of the command line and the API.

They are apart from the code of the functions, so that listing them does not load it.
"""

from __future__ import annotations

DESCRIPTIONS = {
    "and": "True if all of two or more conditions are.",
    "contains": "Whether a value is in a list, or a text in a text.",
    "digest": "The digest of a text, by the named algorithm.",
    "equals": "Whether two values are the same.",
    "filter": "A list without the given values.",
    "get_attr": "An attribute of a resource, or a part of one.",
    # Heat's tests compare this sentence.
    "get_file": "A function for including a file inline.",
    "get_param": "The value of a parameter, or a part of it.",
    "get_resource": "The id by which other resources refer to a resource.",
    "if": "One of two values, by a condition.",
    "list_concat": "Several lists as one.",
    "list_concat_unique": "Several lists as one, each value once.",
    "list_join": "The items of lists as one text, with a delimiter between them.",
    "make_url": "A URL, put together from its parts.",
    "map_merge": "Several maps as one; later ones win.",
    "map_replace": "A map with some keys and values replaced.",
    "not": "True if the condition is not.",
    "or": "True if any of two or more conditions is.",
    "repeat": "A list made by filling a pattern with each item of other lists.",
    "resource_facade": "Something of the resource that this nested template stands for.",
    "str_replace": "A text in which words are replaced by values.",
    "str_replace_strict": "As str_replace; each of the words must occur.",
    "str_replace_vstrict": "As str_replace_strict; and no value may be empty.",
    "str_split": "A text cut at a delimiter, as a list, or one item of it.",
    "yaql": "The value of a YAQL expression over the given data.",
    "Fn::And": "True if all of two or more conditions are.",
    "Fn::Base64": "The text itself: what needs it encoded does so on its own.",
    "Fn::Equals": "Whether two values are the same.",
    "Fn::FindInMap": "A value out of the Mappings section.",
    "Fn::GetAtt": "An attribute of a resource.",
    "Fn::GetAZs": "The availability zones.",
    "Fn::If": "One of two values, by a condition.",
    "Fn::Join": "The items of a list as one text, with a delimiter between them.",
    "Fn::MemberListToMap": "A map out of a list of numbered keys and values.",
    "Fn::Not": "True if the condition is not.",
    "Fn::Or": "True if any of two or more conditions is.",
    "Fn::Replace": "A text in which words are replaced by values.",
    "Fn::ResourceFacade": "Something of the resource that this nested template stands for.",
    "Fn::Select": "One item of a list or map.",
    "Fn::Split": "A text cut at a delimiter, as a list.",
    "Ref": "The id of a resource, or the value of a parameter.",
}
