"""Stop words: words that say nothing about what is wanted; Chinese ones as the pairs that the tokenizer makes."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any anyone anything are aren as at away back be because
    been before being below between both but by came can cannot could d did didn do does doesn doing don done down
    during each every everybody everyone everything few for from further get gets give given go goes going gone
    got had has have having he hello help her here hey hi hers him his how i if im in into is isn it its itself just
    keep kind
    know let like ll look lot m make makes many may me mine more most much must my need needs never no nobody nor
    not nothing now of off oh ok on once one ones only or other our ours out over own please pls put re s same say
    says see shall she should show since so some somebody someone something still stuff such sure t tell than
    thank thanks that the their them then there these they thing things think this those through to too try two
    under until up us use used using ve very via want wants was wasn way we were what when where which while who
    whom whose why will with within without won would yes yet you your yours
    一下 帮我 我想 这个 那个 怎么 什么 我的 可以 能不 不能 一个 了吗 的吗 请帮 我们 你们 他们 没有 还有 就是
    """.split()  # noqa: SIM905  a list literal would take a line per word
)
STOP_CHARACTERS = frozenset("的了吗呢吧啊我你他她它们是在有和与就都也很把被给让想要帮请这那一不")
