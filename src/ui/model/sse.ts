/** One server-sent event. */
export type Message = { readonly event: string; readonly id: string; readonly data: string };

/** Reads server-sent events out of the pieces in which a stream arrives: EventSource cannot send a header with the token. */
export class MessageReader {
  /** What belongs to a message that is not complete: joined only when it is, for a scene comes in very many pieces. */
  #held: string[] = [];

  /** The messages that this piece completes. Comments, which only say that the server is there, are none. */
  read(piece: string): readonly Message[] {
    if (piece === '') return [];
    const completes = piece.includes('\n\n') || (piece.startsWith('\n') && (this.#held.at(-1) ?? '').endsWith('\n'));
    this.#held.push(piece);
    if (!completes) return [];
    const blocks = this.#held.join('').split('\n\n');
    this.#held = [blocks.pop() ?? ''];
    return blocks.flatMap(block => {
      const fields = new Map(block.split('\n').map(text => [text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 2)]));
      const data = fields.get('data');
      return data === undefined ? [] : [{ event: fields.get('event') ?? 'message', id: fields.get('id') ?? '', data }];
    });
  }
}
