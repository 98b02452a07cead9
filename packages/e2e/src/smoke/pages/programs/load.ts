/** Loads a package that the project has, and this workspace does not have here. */
export async function load(name: string): Promise<any> {
  return await import(name);
}
