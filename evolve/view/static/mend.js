// Makes what stands on the page like what was drawn anew, and touches only what differs: what is scrolled, selected, focused or unfolded stays.
// A `data-key` says which node of a list is which; what is inside of a node with `data-own` is its own business.

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("data-key") : null);
const alike = (one, other) => one.nodeName === other.nodeName && keyOf(one) === keyOf(other);

export function mend(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  mendAttributes(old, next);
  if (old.hasAttribute("data-own")) return;
  const keyed = new Map([...old.childNodes].filter((child) => keyOf(child) !== null).map((child) => [keyOf(child), child]));
  let at = old.firstChild;
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted);
    const found = key === null ? at : keyed.get(key);
    if (!found || !alike(found, wanted)) old.insertBefore(wanted, at);
    else {
      if (found === at) at = at.nextSibling;
      else old.insertBefore(found, at);
      mend(found, wanted);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

// Whether something is unfolded is up to whoever looks.
function mendAttributes(old, next) {
  for (const { name } of [...old.attributes]) if (name !== "open" && name !== "style" && !next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of [...next.attributes]) if (name !== "open" && name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.style && old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText; // as an attribute, the policy forbids it
}
