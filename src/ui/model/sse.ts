/** One server-sent event. */
export type Message = { readonly event: string; readonly id: string; readonly data: string };

/** Reads server-sent events out of the pieces in which a stream arrives: EventSource cannot send a header with the token. */
export class MessageReader {
  #rest = '';

  /** The messages that this piece completes. Comments, which only say that the server is there, are none. */
  read(piece: string): readonly Message[] {
    const blocks = (this.#rest + piece).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap(block => {
      const fields = new Map(block.split('\n').map(text => [text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 2)]));
      const data = fields.get('data');
      return data === undefined ? [] : [{ event: fields.get('event') ?? 'message', id: fields.get('id') ?? '', data }];
    });
  }
}
