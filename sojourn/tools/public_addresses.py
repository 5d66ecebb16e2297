"""Which addresses belong to the public internet. The list is our own, because Python's changes with its version.

After RFC 6890 and the registries of IANA: all of IPv4 but the special networks, and of IPv6 the global unicast space
2000::/3 but the special networks in it. An IPv4 address inside an IPv6 one counts as itself where the kernel or a
translator of the provider connects to it; tunnels, which nobody needs any more, are refused altogether.
"""

from __future__ import annotations

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_SPECIAL_V4 = tuple(
    ipaddress.IPv4Network(one)
    for one in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # behind a provider's translator
        "127.0.0.0/8",  # this machine
        "169.254.0.0/16",  # link-local; clouds keep credentials there
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(
    ipaddress.IPv6Network(one)
    for one in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)
_EMBEDDING_V6 = (
    ipaddress.IPv6Network("::ffff:0:0/96"),  # mapped: the kernel connects to the IPv4 address
    ipaddress.IPv6Network("64:ff9b::/96"),  # NAT64: a translator does; 64:ff9b:1::/48 is for private use
)


def is_public(address: Address) -> bool:
    """Whether an address belongs to somebody on the internet, and to nothing on this machine or its networks."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _SPECIAL_V4)
    if any(address in network for network in _EMBEDDING_V6):
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return address in _GLOBAL_V6 and not any(address in network for network in _SPECIAL_V6)
