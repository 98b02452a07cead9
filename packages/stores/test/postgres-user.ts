/** The user of the server in `startPostgres`, who needs no password. */
export const postgresUser = "postgres";
