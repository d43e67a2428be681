// The client of the service. Types come from the descriptions of its APIs.
import { Client, type Config } from "./client.ts";
import type { Operations as OperatorOperations } from "./operator.ts";
import type { Operations as PartnerOperations } from "./partner.ts";

export { ClavigerError, Client } from "./client.ts";
export type { Answer, Config, Input, Item, Options } from "./client.ts";
export { Connect } from "./connect.ts";
export type { ConnectConfig, ConnectedLicense } from "./connect.ts";
export type * as oauth from "./oauth.ts";
export type * as operator from "./operator.ts";
export type * as partner from "./partner.ts";

/** Calls /v2 with an API key, for a partner's application. */
export class PartnerClient extends Client<PartnerOperations> {
  constructor(config: Config) {
    super(config);
  }
}

/** Calls /operator/v1 with an operator token, for the marketplace's own programs. */
export class OperatorClient extends Client<OperatorOperations> {
  constructor(config: Config) {
    super(config);
  }
}
