// Comforts on top of pages that work without them: a form says that it is being
// sent and is not sent twice, and a key is copied by one press.
'use strict';

const sending = new WeakMap(); // form → how to make it ready again

document.addEventListener('submit', (event) => {
  const form = event.target;
  const button = event.submitter ?? form.querySelector('button[type=submit]');
  const busy = button?.dataset.busy ?? form.dataset.busy;
  if (sending.has(form)) {
    event.preventDefault();
    return;
  }
  if (!button || !busy) return;
  const label = button.textContent;
  button.style.minWidth = `${button.offsetWidth}px`; // its neighbours stay where they are
  button.textContent = busy;
  // Not "disabled": its name and value belong to what is sent.
  button.setAttribute('aria-disabled', 'true');
  const ready = () => {
    button.textContent = label;
    button.removeAttribute('aria-disabled');
    sending.delete(form);
  };
  sending.set(form, ready);
  setTimeout(ready, 15000); // nothing came: let the person try again
  // Coming back to this page by the browser's history finds it as it was left.
  addEventListener('pageshow', ready, { once: true });
});

document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  const label = button.firstChild;
  const code = button.closest('.key, .code').querySelector('code');
  const status = button.parentElement.querySelector('[role=status]');
  const before = label.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy || code.textContent);
    label.textContent = 'Copied';
  } catch {
    // Only https pages may write to the clipboard: select the text instead.
    getSelection().selectAllChildren(code);
    label.textContent = 'Selected';
  }
  if (status) status.textContent = label.textContent;
  setTimeout(() => {
    label.textContent = before;
    if (status) status.textContent = '';
  }, 2000);
});

// A page from the browser's memory may be out of date, or that of somebody who has
// signed out: ask for it again.
addEventListener('pageshow', (event) => {
  if (event.persisted && document.querySelector('.person')) location.reload();
});

// The server writes times in the zone of the browser, which only a script can tell it.
// A page that was made before it knew is asked for again, once.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const known = () => document.cookie.split('; ').includes(`claviger-zone=${zone}`);
if (zone && !known()) {
  document.cookie = `claviger-zone=${zone}; path=/; max-age=31536000; samesite=lax`;
  const shown = document.documentElement.dataset.zone;
  if (known() && shown && shown !== zone && document.querySelector('time[data-as]')) location.reload();
}

// Streams: a page follows what happens while somebody looks at it. A tab in the
// background must not hold one of the few connections that a browser has for a host, so
// its stream opens when it is looked at; htmx closes it when the tab is hidden.
const streams = '[hx-sse\\:connect]';
const opened = new WeakSet();
const refused = new WeakSet();
const openStreams = () => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll(streams)) {
    if (opened.has(element) || !element._htmx) continue; // which htmx has not read yet
    opened.add(element);
    htmx.trigger(element, 'visible');
  }
};
document.addEventListener('htmx:after:process', () => setTimeout(openStreams));
document.addEventListener('visibilitychange', openStreams);

// A stream that cannot be opened is tried again; one that was refused is not.
const isRefusal = (status) => status >= 400 && status < 500;
document.addEventListener('htmx:finally:request', ({ detail: { ctx } }) => {
  const element = ctx.sourceElement;
  if (!element?.matches?.(streams) || element._htmx?.sse || isRefusal(ctx.response?.status)) return;
  setTimeout(() => {
    opened.delete(element);
    openStreams();
  }, 5000);
});
document.addEventListener('htmx:sse:error', ({ target, detail }) => {
  if (isRefusal(detail.status)) refused.add(target);
});
document.addEventListener('htmx:sse:before:connection', (event) => {
  if (refused.has(event.target)) event.preventDefault();
});
// htmx does not notice a tab that is hidden while its stream connects.
// A timer would do, but browsers let those of hidden tabs wait, up to a minute.
document.addEventListener('htmx:sse:after:connection', () => queueMicrotask(() => {
  if (document.hidden) document.dispatchEvent(new Event('visibilitychange'));
}));
// "close" says that nothing more comes, and the server ends the stream. With
// hx-sse:close, htmx 4.0.0 would abort it as well and report that as an error.
document.addEventListener('close', ({ target }) => {
  if (target.matches?.(streams)) refused.add(target);
});
document.addEventListener('reload', (event) => {
  if (event.target.matches?.(streams)) document.getElementById('stale').hidden = false;
});

// Focus never falls to the body: when what had it is replaced, the heading of what came
// instead gets it, or the page.
let focused = null;
document.addEventListener('focusin', ({ target }) => { focused = target; });
document.addEventListener('htmx:after:swap', ({ detail: { ctx } }) => {
  if (!focused || focused.isConnected || document.activeElement !== document.body) return;
  const target = ctx.target?.isConnected ? ctx.target : document.getElementById(ctx.target?.id);
  (target?.querySelector('[tabindex="-1"]') ?? document.getElementById('main')).focus();
});

// Going back to a list focuses the row that was opened last. The list is loaded anew, so
// the tab remembers which one it was.
const rows = `rows:${location.pathname}${location.search}`;
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('table.data tbody a[id]');
  if (link) sessionStorage.setItem(rows, link.id);
});
addEventListener('pageshow', () => {
  const back = performance.getEntriesByType('navigation')[0]?.type === 'back_forward';
  const link = back && document.getElementById(sessionStorage.getItem(rows) ?? '');
  if (link) link.focus();
});

// Keys: "/" leads to the search box, or to the filters of a list; "j" and "k" to the next
// and the previous row, which Enter opens; "?" shows the keys; Esc leaves a field. None
// but Esc counts while somebody types, and none together with Ctrl, Alt or Meta.
const fields = 'input, textarea, select, [contenteditable]';
const keys = document.getElementById('key-help');

const search = () => {
  const box = document.querySelector('main [role="search"] input[name="q"], input#side-search')
    ?? document.querySelector('main [role="search"] :is(input:not([type="hidden"]), select)');
  if (!box) return false;
  const fold = box.closest('details');
  if (fold && !box.checkVisibility?.({ contentVisibilityAuto: true })) fold.open = true;
  box.focus();
  box.select?.();
  return true;
};

// The rows of the page's lists. What is focused of one is the link that opens it; a row
// that has none is focused itself.
const step = (by) => {
  const rows = [...document.querySelectorAll('main table.data tbody tr, main .todo > li')].filter((row) => row.getClientRects().length > 0);
  if (rows.length === 0) return false;
  const at = rows.indexOf(document.activeElement?.closest?.('tr, li'));
  const row = rows[at < 0 ? (by < 0 ? rows.length - 1 : 0) : Math.min(Math.max(at + by, 0), rows.length - 1)];
  const to = row.querySelector('th a, a') ?? row.querySelector('button') ?? row;
  if (to === row) row.tabIndex = -1;
  to.focus();
  row.scrollIntoView({ block: 'nearest' });
  return true;
};

// Who leaves a field is led to the list, or to the page.
const leave = () => {
  if (step(0)) return;
  const main = document.getElementById('main');
  main.dataset.led = '';
  main.focus();
};

let before = null; // what had the focus when the help was opened
const help = () => {
  if (!keys || keys.open) return Boolean(keys);
  before = document.activeElement;
  keys.showModal();
  return true;
};
keys?.addEventListener('close', () => {
  (before?.isConnected && before !== document.body ? before : document.getElementById('main')).focus();
});

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const field = event.target.closest?.(fields);
  if (event.key === 'Escape') {
    if (field && !keys?.open) leave();
    return;
  }
  if (field || keys?.open && event.key !== '?') return;
  const act = { '/': search, j: () => step(1), k: () => step(-1), '?': help }[event.key];
  if (act?.()) event.preventDefault();
});

// The link to the help and the one that closes it work without scripts, too.
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href="#key-help"], #key-help a[href="#main"]');
  if (!link || !keys || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (keys.open) keys.close();
  else help();
});
