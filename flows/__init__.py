import atexit
import gc

from flows.support.logs import follow

follow()
# An interpreter that ends looks through all that torch and vLLM have made (15 s); the system frees it at once.
atexit.register(gc.freeze)
