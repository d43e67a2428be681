// What axe found, how the text of a page is painted, and which of it cannot be read. See contrast.go.

// The rule of 7:1 also finds what breaches the one of 4.5:1, which axe leaves to a rule of its own.
axe.configure({checks: [{id: 'color-contrast-enhanced', options: {
  ignoreUnicode: true, ignoreLength: false, ignorePseudo: false, boldValue: 700, boldTextPt: 14, largeTextPt: 18,
  contrastRatio: {normal: {expected: 7}, large: {expected: 4.5}},
  pseudoSizeThreshold: .25, shadowOutlineEmMax: .1, textStrokeEmMin: .03,
}}]});

window.claviger = (() => {
  let found; // how text is painted: the name of each way, and the elements

  // breaches is what axe found, a line for each element.
  const breaches = (results) => results.violations.flatMap((v) => v.nodes.map((n) =>
    v.id + ' (' + v.impact + ') at ' + n.target.join(' ') + ': ' + n.failureSummary.replace(/\s+/g, ' ')));

  // behind names what is painted behind the text of an element, and what changes its colours.
  // It is null where other elements than ancestors may lie there, and undefined where nobody
  // sees the text.
  const behind = (element, known) => {
    if (!element) return '';
    if (known.has(element)) return known.get(element);
    const s = getComputedStyle(element), above = behind(element.parentElement, known);
    const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.filter, s.mixBlendMode].join(' ');
    const isMoved = s.position === 'absolute' || s.position === 'fixed' || s.float !== 'none' || s.transform !== 'none' ||
      s.position === 'relative' && [s.top, s.left].some((offset) => offset !== '0px' && offset !== 'auto') ||
      [s.marginTop, s.marginLeft].some((margin) => margin.startsWith('-'));
    const isSolid = s.backgroundColor.startsWith('rgb(');
    let name = own === 'rgba(0, 0, 0, 0) none 1 none normal' ? above : above + '; ' + own;
    if (above === null || isMoved && !isSolid) name = null;
    if (above === undefined || s.clipPath === 'inset(50%)') name = undefined;
    known.set(element, name);
    return name;
  };

  const isSeen = (element) => {
    const r = element.getBoundingClientRect();
    return r.width > 0 && r.height > 0 && r.bottom + scrollY > 0 && r.right + scrollX > 0 && element.checkVisibility({visibilityProperty: true});
  };

  // texts are the elements within one that have text.
  const texts = (element) => {
    const list = new Set(), nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let n = nodes.nextNode(); n; n = nodes.nextNode()) if (n.data.trim()) list.add(n.parentElement);
    return [...list];
  };

  // needsColour reports whether a link is among other text, and colours alone may tell it.
  const needsColour = (a) => {
    const s = getComputedStyle(a);
    if (s.textDecorationLine.includes('underline') || !['inline', 'inline-flex', 'inline-grid'].includes(s.display) || !isSeen(a)) return false;
    let block = a.parentElement;
    while (getComputedStyle(block).display === 'inline') block = block.parentElement;
    return texts(block).some((e) => !e.closest('a, button'));
  };

  // ways finds how text is painted and returns the names; what has none is judged each time.
  const ways = () => {
    const byName = new Map(), known = new Map();
    const add = (element, name) => byName.set(name, [...byName.get(name) ?? [], element]);
    for (const e of [...texts(document.body), ...document.body.querySelectorAll('input, select, textarea')]) {
      const b = isSeen(e) ? behind(e, known) : undefined;
      if (b === undefined) continue;
      const s = getComputedStyle(e);
      add(e, b === null ? '' : [s.color, s.fontSize, s.fontWeight, s.textShadow, s.webkitTextStrokeWidth].join(' ') + b);
    }
    for (const a of document.links) if (needsColour(a)) add(a, '');
    found = [...byName];
    return [...byName.keys()];
  };

  // judge has axe judge ways, by their places among the names, and says which are readable.
  const judge = async (places) => {
    const asked = places.map((i) => found[i]);
    const r = await axe.run({include: asked.flatMap(([, elements]) => elements)}, {
      runOnly: {type: 'rule', values: ['color-contrast-enhanced', 'link-in-text-block']},
      resultTypes: ['violations', 'passes', 'incomplete'], elementRef: true,
    });
    const elements = (results, where = () => true) => results.filter((v) => v.id === 'color-contrast-enhanced')
      .flatMap((v) => v.nodes.filter(where).map((n) => n.element));
    // What axe cannot tell for the image behind a text, it cannot tell the next time.
    const hasImage = (n) => n.any.every((c) => ['bgImage', 'bgGradient'].includes(c.data?.messageKey));
    const good = new Set([...elements(r.passes), ...elements(r.incomplete, hasImage)]), bad = new Set(elements(r.violations));
    const isReadable = ([name, list]) => name && list.some((e) => good.has(e)) && !list.some((e) => bad.has(e));
    return {Breaches: breaches(r), Readable: asked.filter(isReadable).map(([name]) => name)};
  };
  return {breaches, ways, judge};
})();
