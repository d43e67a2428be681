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
