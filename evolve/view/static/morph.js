// Updates the page to a new drawing by changing only the differences, so that scrolling, selection, focus and unfolded parts stay.
// A `data-key` identifies a node in a list; the inside of a node with `data-own` is left alone.

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("data-key") : null);
const alike = (old, next) => old.nodeName === next.nodeName && keyOf(old) === keyOf(next);

export function morph(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  morphAttributes(old, next);
  if (old.hasAttribute("data-own")) return;
  const keyed = new Map([...old.childNodes].filter((child) => keyOf(child) !== null).map((child) => [keyOf(child), child]));
  let at = old.firstChild;
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted);
    const present = key === null ? at : keyed.get(key);
    if (!present || !alike(present, wanted)) old.insertBefore(wanted, at);
    else {
      if (present === at) at = at.nextSibling;
      else old.insertBefore(present, at);
      morph(present, wanted);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

// The reader decides what is unfolded.
function morphAttributes(old, next) {
  for (const { name } of [...old.attributes]) if (name !== "open" && name !== "style" && !next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of [...next.attributes]) if (name !== "open" && name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.style && old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText; // as an attribute, the policy forbids it
}
