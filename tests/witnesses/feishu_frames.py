"""Reads a frame with Feishu's own protobuf classes and writes it again; both in hexadecimal."""

import json
import sys

from lark_oapi.ws.pb.pbbp2_pb2 import Frame  # type: ignore[import-not-found]

frame = Frame()
frame.ParseFromString(bytes.fromhex(sys.argv[1]))
headers = {one.key: one.value for one in frame.headers}
numbers = [frame.SeqID, frame.LogID, frame.service, frame.method]
told = {"numbers": numbers, "headers": headers, "payload": frame.payload.decode()}
print(json.dumps(told | {"written": frame.SerializeToString().hex()}))
