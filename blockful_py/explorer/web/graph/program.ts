// SPDX-License-Identifier: Apache-2.0
// Programs of WebGL 2, and the camera's map as they take it.

import type { Scene } from "./scene";

export class Program {
  private readonly program: WebGLProgram;
  private readonly uniforms = new Map<string, WebGLUniformLocation | null>();

  constructor(private readonly gl: WebGL2RenderingContext, vertex: string, fragment: string) {
    this.program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.bindAttribLocation(this.program, 0, "place");
    gl.bindAttribLocation(this.program, 1, "look");
    gl.linkProgram(this.program);
  }

  /** Uses the program, with the scene's map from places of the graph to the page. */
  use({ map, width, height }: Scene): void {
    this.gl.useProgram(this.program);
    this.gl.uniform4f(
      this.at("map"),
      (map.scale * 2) / width,
      (map.scale * 2) / height,
      (map.left * 2) / width - 1,
      1 - (map.top * 2) / height,
    );
  }

  at(name: string): WebGLUniformLocation | null {
    if (!this.uniforms.has(name)) this.uniforms.set(name, this.gl.getUniformLocation(this.program, name));
    return this.uniforms.get(name)!;
  }
}
