import json, os
