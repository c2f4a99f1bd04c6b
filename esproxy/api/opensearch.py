from esproxy.api.endpoints import ENDPOINTS
ROWS=[]
EXTRA={"*":{}}
def endpoints(s): pass
