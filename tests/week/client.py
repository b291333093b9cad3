"""`parity` as the DAGs start it, in the week: the command line goes to the worker that has Spark, its end comes back."""

import json
import os
import socket
import sys


def main() -> int:
    with socket.socket(socket.AF_UNIX) as worker:
        worker.connect(os.environ["WEEK_SOCKET"])
        asked = {"line": sys.argv[1:], "moment": os.environ["WEEK_MOMENT"]}
        worker.sendall(json.dumps(asked).encode() + b"\n")
        with worker.makefile() as answers:
            answer = answers.readline()
    if not answer:
        sys.stderr.write("the command was killed\n")
        return 137
    ended = json.loads(answer)
    sys.stdout.write(ended["stdout"])
    sys.stderr.write(ended["stderr"])
    return int(ended["code"])


sys.exit(main())
