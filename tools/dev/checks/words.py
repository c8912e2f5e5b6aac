# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing in the tree names one machine's folders, a package registry's host, a person's or a process's role."""
from tree import Finding

# Character classes keep this file from matching itself.
RULES = [
    (r"(?:^|[^A-Za-z0-9_.}])/(?:wor[k]|far[m]|roo[t]|hom[e])/", "a folder of one machine: use a relative path or a variable"),
    (r"/tm[p]/(?:pk[b](?=[\"'/\s]|$)|buil[d]-|brie[f])", "a folder of one machine: use a relative path or a variable"),
    (r"https?://[A-Za-z0-9.-]*(?:pyp[i]|pythonhoste[d]|npmj[s]|crate[s]|debia[n]|ubunt[u])", "a package registry's host"),
    (r"(?i)\bsub-?agen[t]s?\b|\bCE[O]\b|\bclaud[e]\b|\banthropi[c]\b", "a role or product that has no place in the code"),
    (r"(?i)\b(?:this|other|another|earlier|previous|next) (?:helpe[r]|sessio[n])s?\b", "how the work was organised"),
]


def run(tree):
    for pattern, message in RULES:
        for name, line, match in tree.grep(pattern, tree.files):
            yield Finding(name, line, f"'{match.group(0).strip()}': {message}")
