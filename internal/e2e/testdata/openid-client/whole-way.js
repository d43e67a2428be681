// The whole way of an application with openid-client, which checks everything
// that OpenID Connect lets a client check. It reads its settings as one line of
// JSON, writes the address to send the user to, reads the address that the user
// came back to, and writes what it learnt. Whatever is wrong ends it with an error.
import assert from 'node:assert/strict'
import { createInterface } from 'node:readline'
import * as client from 'openid-client'

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const read = async () => (await lines.next()).value
const write = (line) => process.stdout.write(line + '\n')

const settings = JSON.parse(await read())
const authentication = settings.basic
  ? client.ClientSecretBasic(settings.client_secret)
  : client.ClientSecretPost(settings.client_secret)
const config = await client.discovery(
  new URL(settings.issuer),
  settings.client_id,
  { id_token_signed_response_alg: settings.alg },
  authentication,
  // The service is on this machine and has no TLS. The other has the library verify
  // signatures too, which OpenID lets a client leave out.
  { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] },
)
assert.equal(config.serverMetadata().issuer, settings.issuer)
assert.equal(config.serverMetadata().supportsPKCE(), true)

const pkceCodeVerifier = client.randomPKCECodeVerifier()
const expectedState = client.randomState()
const expectedNonce = client.randomNonce()
const maxAge = 3600
write(
  client.buildAuthorizationUrl(config, {
    redirect_uri: settings.redirect_uri,
    scope: 'openid read_license',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
    nonce: expectedNonce,
    max_age: String(maxAge),
  }).href,
)

const back = new URL(await read())
const checks = { pkceCodeVerifier, expectedState, expectedNonce, maxAge, idTokenExpected: true }
await assert.rejects(
  client.authorizationCodeGrant(config, back, { ...checks, expectedState: 'another' }),
  'an answer with another state was taken',
)
const tokens = await client.authorizationCodeGrant(config, back, checks)
const claims = tokens.claims()
assert.equal(tokens.expiresIn() > 0, true)

const user = await client.fetchUserInfo(config, tokens.access_token, claims.sub)
assert.equal(user.license_key, claims.license_key)

const introspected = await client.tokenIntrospection(config, tokens.access_token)
assert.equal(introspected.active, true)
assert.equal(introspected.sub, claims.sub)
assert.equal(introspected.client_id, settings.client_id)

const next = await client.refreshTokenGrant(config, tokens.refresh_token)
assert.notEqual(next.access_token, tokens.access_token)
assert.equal(next.claims().sub, claims.sub)
await client.fetchUserInfo(config, next.access_token, claims.sub)

await client.tokenRevocation(config, next.access_token)
assert.equal((await client.tokenIntrospection(config, next.access_token)).active, false)
await assert.rejects(client.fetchUserInfo(config, next.access_token, claims.sub), 'a revoked token serves')
await client.tokenRevocation(config, next.refresh_token)
await refusedWith('invalid_grant', client.refreshTokenGrant(config, next.refresh_token))
await assert.rejects(client.fetchUserInfo(config, tokens.access_token, claims.sub), 'a token of a revoked family serves')
await refusedWith('invalid_grant', client.authorizationCodeGrant(config, back, checks))

write(JSON.stringify({ license_key: claims.license_key, tier: claims.tier, alg: algOf(tokens.id_token) }))
process.exit(0)

// refusedWith waits for the server's refusal, in its own words.
async function refusedWith(code, promise) {
  await assert.rejects(promise, (err) => {
    assert.equal(err.error, code)
    assert.notEqual(err.error_description, '')
    return true
  })
}

function algOf(token) {
  return JSON.parse(Buffer.from(token.split('.')[0], 'base64url')).alg
}
