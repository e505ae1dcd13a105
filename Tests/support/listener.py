"""`listener.py PATH` listens at PATH, and prints the received bytes in hexadecimal. It is a separate program, so that
another user can run it. The program imports nothing from this package, which the other user may not be able to read.
"""

import socket
import sys

if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(sys.argv[1])
        listener.listen()
        print("listening", flush=True)
        while True:
            print(listener.accept()[0].recv(65536).hex() or "nothing", flush=True)
