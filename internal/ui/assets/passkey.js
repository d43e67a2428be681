// Forms with data-passkey: their button has the browser create or use a passkey, and the
// form then sends its answer. They are hidden where the browser knows no passkeys.
'use strict';

const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));

const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');

const listed = (list) => (list ?? []).map((item) => ({ ...item, id: bytes(item.id) }));

// ask has the browser do what the server's options say, and returns the answer for it.
async function ask(kind, { publicKey }) {
  const options = { ...publicKey, challenge: bytes(publicKey.challenge) };
  if (kind === 'create') {
    options.user = { ...options.user, id: bytes(options.user.id) };
    options.excludeCredentials = listed(options.excludeCredentials);
  } else {
    options.allowCredentials = listed(options.allowCredentials);
  }
  const made = await navigator.credentials[kind]({ publicKey: options });
  const response = { clientDataJSON: text(made.response.clientDataJSON) };
  if (kind === 'create') {
    response.attestationObject = text(made.response.attestationObject);
    response.transports = made.response.getTransports?.() ?? [];
  } else {
    response.authenticatorData = text(made.response.authenticatorData);
    response.signature = text(made.response.signature);
    if (made.response.userHandle) response.userHandle = text(made.response.userHandle);
  }
  return { id: made.id, rawId: text(made.rawId), type: made.type, clientExtensionResults: {}, response };
}

async function run(form) {
  const answer = await fetch(`${form.getAttribute('action')}/options`, { method: 'POST' });
  if (!answer.ok) throw new Error(await answer.text());
  form.elements.answer.value = JSON.stringify(await ask(form.dataset.passkey, await answer.json()));
  form.submit();
}

if (window.PublicKeyCredential) {
  for (const form of document.querySelectorAll('form[data-passkey]')) {
    form.hidden = false;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const says = form.querySelector('[role=alert]');
      says.textContent = '';
      run(form).catch((err) => {
        says.textContent = err.name === 'NotAllowedError' ? 'No passkey was used. Try again.'
          : err.name === 'InvalidStateError' ? 'This device has a passkey for your account already.' : err.message;
      });
    });
  }
}
